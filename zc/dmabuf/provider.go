// SPDX-License-Identifier: MIT

package dmabuf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/machine/gpu"
	"github.com/zcbench/zcbench/machine/nic"
)

// Provider makes memory for payload. The options area and tx_area name it, with an argument after a
// colon where it takes one.
type Provider struct {
	Name string
	Arg  string // what may follow the name, as help shows it: "[:NAME]"; "": nothing
	Help string // a few words

	// Check says what is wrong with an argument, which is "" where none was given; nil: it takes
	// none.
	Check func(arg string) error
	Runs  bool // the argument is a program: from others it takes --trust-file

	Helper string // the program of ours that makes it (package helper); "": none

	// Near chooses the argument where none was given: the device that is nearest to a NIC, whose
	// PCI address it is told, or "" of one without; nil: nothing is to be chosen.
	Near func(nic string) (arg string, err error)

	// Open makes a dmabuf of size bytes or, in whole pages of its own kind, more; nil: it has none.
	Open func(arg string, size int) (*Memory, error)
	// Have says what this host has of it, for the doctor; nil: nothing that could be missing, or
	// that could be looked for.
	Have func() (string, error)
	// Pages makes such memory of this process without a dmabuf, which io_uring takes rather; nil:
	// it has none.
	Pages func(size int) (*Memory, error)
}

// All are the providers, the default of zcrx first. A provider is a word here.
var All = []Provider{pages, transparent, huge, udmabufs, heaps, drms, cudas, rocms, commands}

// The words of those that a path chooses by itself.
const (
	Pages   = "pages"
	Huge    = "huge"
	Udmabuf = "udmabuf"
)

// Words lists those that fit with what may follow their names, for help; nil: all.
func Words(fits func(Provider) bool) (words []string) {
	for _, p := range All {
		if fits == nil || fits(p) {
			words = append(words, p.Name+p.Arg)
		}
	}
	return words
}

// Names lists the names of those that fit; nil: all.
func Names(fits func(Provider) bool) (names []string) {
	for _, p := range All {
		if fits == nil || fits(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Exports reports whether a provider makes dmabufs.
func Exports(p Provider) bool { return p.Open != nil }

// Alone reports whether a provider's name says all: it needs no argument.
func Alone(p Provider) bool { return p.Check == nil || p.Check("") == nil }

// Find reads a word of the options: the provider, and its argument.
func Find(area string) (p Provider, arg string, err error) {
	name, arg, has := strings.Cut(area, ":")
	i := slices.IndexFunc(All, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return p, "", fmt.Errorf("%.40q is not memory that is known%s", name,
			near.Instead(name, "kinds of memory", Names(nil)))
	}
	p = All[i]
	switch {
	case p.Check == nil && has:
		return p, "", fmt.Errorf("%s takes nothing after its name, not %.40q", name, arg)
	case p.Check == nil:
		return p, "", nil
	case has && arg == "":
		return p, "", fmt.Errorf("%s: has nothing after the colon", name)
	}
	if err := p.Check(arg); err != nil {
		return p, "", fmt.Errorf("%s: %w", name, err)
	}
	return p, arg, nil
}

// NearTo completes a word of the options that names no device by the one that is nearest to a NIC.
func NearTo(d *nic.Device, area string) (string, error) {
	p, arg, err := Find(area)
	if err != nil || arg != "" || p.Near == nil {
		return area, err
	}
	arg, err = p.Near(busOf(d))
	return p.Name + ":" + arg, err
}

// busOf returns a NIC's PCI address; "" of one without.
func busOf(d *nic.Device) string {
	if d == nil {
		return ""
	}
	drv, err := d.Driver()
	if err != nil || gpu.CheckPCI(drv.Bus) != nil {
		return ""
	}
	return drv.Bus
}

// Runs reports whether a word of the options has a program run.
func Runs(area string) bool {
	name, _, _ := strings.Cut(area, ":")
	return slices.ContainsFunc(All, func(p Provider) bool { return p.Name == name && p.Runs })
}

// Make makes the memory that a word of the options names, as a dmabuf.
func Make(area string, size int) (*Memory, error) {
	p, arg, err := Find(area)
	if err != nil {
		return nil, err
	}
	if p.Open == nil {
		return nil, fmt.Errorf("memory of kind %q is no dmabuf; these are: %s", area,
			strings.Join(Names(Exports), ", "))
	}
	return p.Open(arg, size)
}

// MakeAny makes the memory that a word of the options names, as pages of this process where it can
// be had so.
func MakeAny(area string, size int) (*Memory, error) {
	p, arg, err := Find(area)
	if err != nil {
		return nil, err
	}
	if p.Pages != nil {
		return p.Pages(size)
	}
	return p.Open(arg, size)
}
