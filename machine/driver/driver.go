// SPDX-License-Identifier: MIT

// Package driver holds what is known of the drivers of NICs beyond what they say themselves: one
// file a driver, with all facts and hooks of it. Everybody else asks here, and never compares the
// name of a driver. Facts were read in the drivers of Linux [ReadIn]; a comment names the function.
//
// The package imports nothing of ours: hooks take plain values.
package driver

import (
	"slices"
	"strings"
)

// ReadIn is the kernel whose drivers were read.
const ReadIn = "7.3.4"

// Driver is what is known of one. The zero value, but for its name, is one of which nothing is.
type Driver struct {
	Name string   // as ETHTOOL_GDRVINFO gives it
	NIC  string   // what it is for, in people's words; "": the driver is in no file of this package
	Labs []string // personalities of the lab's soft NIC that imitate it

	// resets are the settings that restart all queues, as [Driver.Resets] takes them; a word
	// alone stands for all settings that begin with it.
	resets []string
}

// Known reports whether a file of this package is about the driver.
func (d Driver) Known() bool { return d.NIC != "" }

// Of returns what is known of a driver by the name that ETHTOOL_GDRVINFO gives, or by the name of
// one that the lab's soft NIC imitates, in brackets. Of others nothing but the name is known.
func Of(name string) Driver {
	name = Model(name)
	if i := slices.IndexFunc(all, func(d *Driver) bool { return d.Name == name }); i >= 0 {
		return *all[i]
	}
	return Driver{Name: name}
}

// Model returns the name of the driver whose ways one has: the lab's soft NIC can imitate others,
// and says so in brackets. "": an imitation that this program does not know.
func Model(name string) string {
	inner, ok := strings.CutPrefix(name, softNIC.Name+"(")
	if !ok {
		return name
	}
	lab := strings.TrimSuffix(inner, ")")
	if i := slices.IndexFunc(all, func(d *Driver) bool { return slices.Contains(d.Labs, lab) }); i >= 0 {
		return all[i].Name
	}
	return ""
}

// unknownResets are the settings that restart all queues of most drivers.
var unknownResets = []string{"channels", "ring", "rx-buf-len", "header-split"}

// Resets reports whether changing a setting of an interface ("channels", "ring rx", "rx-buf-len",
// "mtu", "header-split", "feature rx-gro-hw", "rss", ...: the names of leases) makes the driver
// stop and start all its queues, not one: flows pause, the carrier may be gone for a while, and
// with some drivers rules that are listed no longer apply. For a driver in no file of this package
// the answer is what most do.
func (d Driver) Resets(setting string) bool {
	list := d.resets
	if !d.Known() {
		list = unknownResets
	}
	word, _, _ := strings.Cut(setting, " ")
	return slices.Contains(list, setting) || slices.Contains(list, word)
}
