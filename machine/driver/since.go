// SPDX-License-Identifier: MIT

package driver

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kernel is what of a kernel bears on a driver of it.
type Kernel struct {
	Release string // as uname -r gives it
	Foreign bool   // the driver's module did not come with the kernel (taint O)
}

// answer is what is known beforehand of whether a driver's queues take memory of others.
type answer int

const (
	unknown answer = iota // nothing: it is in no file, or could not as of [ReadIn]
	Can                   // they do
	NotYet                // they do not: the kernel is older than the driver's part of it
	Perhaps               // they do not upstream, but this kernel, or this driver, is not upstream's
)

// Takes answers whether the driver takes memory of others in a kernel, as far as is known.
func (d Driver) Takes(k Kernel) answer {
	switch {
	case d.Receives == "":
		return unknown
	case k.Foreign:
		return Perhaps
	case !Before(k.Release, d.Receives):
		return Can
	case Upstream(k.Release):
		return NotYet
	}
	return Perhaps
}

// Receivers names the drivers whose queues take memory of others, those first that did first: "a, b
// or c", where last is "or". briefly leaves out those whose queues are another's, and has the names
// of the lab's personalities.
func Receivers(last string, briefly bool) string {
	var names []string
	for _, d := range slices.SortedStableFunc(slices.Values(All), func(a, b *Driver) int {
		return cmp.Or(order(a.Receives, b.Receives), order(a.Sends, b.Sends))
	}) {
		name := d.Name
		if briefly && len(d.Labs) > 0 {
			name = d.Labs[0]
		}
		if d.Format != "" {
			name += " (" + d.Format + ")"
		}
		if d.Receives != "" && !IsLab(d.Name) && !(briefly && d.Lent) {
			names = append(names, name)
		}
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
}

// order compares versions of kernels.
func order(a, b string) int {
	switch {
	case Before(a, b):
		return -1
	case Before(b, a):
		return 1
	}
	return 0
}

// TakesSince words since when the driver hands memory of others to its queues; "": nothing is known
// of that.
func (d Driver) TakesSince() string {
	if d.Receives == "" {
		return ""
	}
	return fmt.Sprintf("this driver (%s) does not hand provider memory on before Linux %s", d.Name, d.Receives)
}

// Ignored explains ENODATA of a registration: the driver took the memory of a queue and gave its
// page pool none of it (page_pool_check_memory_provider, net/core/page_pool_user.c).
func (d Driver) Ignored(dev string, k Kernel) Told {
	switch since := d.TakesSince(); {
	case since == "":
		return Told{"the driver has queue operations, but does not hand provider memory on to its page pools",
			"use a NIC whose driver does, of a recent kernel (docs/nics.md)"}
	case Before(k.Release, d.Receives):
		return Told{since, "use Linux " + d.Receives + " or later"}
	default:
		return Told{fmt.Sprintf("%s, and the driver of this kernel (%s) does not either", since, k.Release),
			"ethtool -i " + dev + " shows which driver it is: use the one that comes with Linux " + d.Receives +
				" or later"}
	}
}

// Before reports whether a kernel release is older than a version, such as 6.15; of a release that
// nobody understands: false.
func Before(release, version string) bool {
	var a, b, c, d int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n < 2 {
		return false
	}
	if n, _ := fmt.Sscanf(version, "%d.%d", &c, &d); n < 2 {
		return false
	}
	return a < c || a == c && b < d
}

// followers are releases of those who add no drivers' features to the kernel that they follow:
// kernel.org's own, and those of Debian, Arch Linux and Fedora.
var followers = regexp.MustCompile(`^\d+\.\d+(\.\d+)*(-rc\d+)?([+~]deb\d+\S*|-(cloud-|rt-)?(amd64|arm64)|` +
	`(-\d+)?-(cloud-|rt-)?(amd64|arm64)|[.-]arch\d\S*|-\d+\.fc\d+\.\w+)?$`)

// Upstream reports whether a kernel's version tells what is in it. Others take parts of later
// kernels into older ones, and keep the number (el9, Ubuntu, SLES, Container-Optimized OS).
func Upstream(release string) bool { return followers.MatchString(release) }
