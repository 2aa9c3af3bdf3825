// SPDX-License-Identifier: MIT

package share

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan/modes"
)

// What a file of sound runs keeps to. Medians of several figures are of different runs, so what
// follows from one another does so only about.
const (
	mostCopied = .01 // of the payload, of a mode that claims to copy nothing: the gate's default
	about      = .25 // by which a figure may be off what follows from others
	overLink   = .01 // by which payload may be faster than the link: clocks differ
)

// virtual are the PCI vendors of NICs that a hypervisor imitates: virtio, QEMU, VMware.
var virtual = []string{"0x1af4", "0x1b36", "0x15ad"}

// NotHardware says why a file is not of runs between two hosts with a NIC each; "": it may be.
func (f *File) NotHardware() string {
	if f.OneMachine {
		return "both ends ran on one machine"
	}
	for _, role := range ends.Roles {
		switch vendor := f.Host(role, "nic/PCI vendor"); {
		case vendor == "":
			return "the " + role.Label() +
				" has no NIC on a PCI bus, or it is not told: share what decide or matrix measured"
		case slices.Contains(virtual, vendor):
			return "the NIC of the " + role.Label() + " is a hypervisor's"
		}
	}
	return ""
}

// Implausible lists what in a file cannot be, or proves nothing.
func (f *File) Implausible() (out []string) {
	for _, x := range []struct{ role, name string }{{"SUT", "kernel"}, {"SUT", "cpu"}, {"SUT", "cpus"},
		{"TG", "kernel"}} {
		if f.Host(ends.Role(strings.ToLower(x.role)), x.name) == "" {
			out = append(out, fmt.Sprintf("the %s's %s is not told", x.role, x.name))
		}
	}
	if !slices.ContainsFunc(f.Cells, func(c Cell) bool { return c.Runs.OK > 0 }) {
		out = append(out, "no run counts")
	}
	for i := range f.Cells {
		for _, text := range f.implausible(&f.Cells[i]) {
			out = append(out, fmt.Sprintf("cell %d, %s from %s: %s", i+1, f.Cells[i].Setting("rx"),
				f.Cells[i].Setting("tx"), text))
		}
	}
	return out
}

func (f *File) implausible(c *Cell) (out []string) {
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c.Runs.OK == 0 {
		if len(c.SUT.Figures)+len(c.TG.Figures) > 0 {
			bad("figures, but no run counts")
		}
		return out
	}
	link, where := f.link()
	for role, e := range map[ends.Role]*End{ends.SUT: &c.SUT, ends.TG: &c.TG} {
		who := role.Label()
		for _, x := range e.Figures {
			if x.Min < 0 {
				bad("%s: %s is %v at the least", who, x.Name, x.Min)
			}
		}
		rate := e.Figure("throughput_gbps")
		if rate != nil && link > 0 && float64(rate.Max) > link*(1+overLink) {
			bad("%s: %v Gbit/s over a link of %v (%s)", who, rate.Max, link, where)
		}
		busy := e.Figure("cpu_busy_cores")
		if n, err := strconv.Atoi(f.Host(role, "cpus")); err == nil && busy != nil &&
			float64(busy.Max) > float64(n)*1.001 {
			bad("%s: %v cores are busy, but it has %d CPUs", who, busy.Max, n)
		}
		out = append(out, e.sums(who)...)
		out = append(out, e.unproved(role, c)...)
	}
	if a, b := c.SUT.Figure("throughput_gbps"), c.TG.Figure("throughput_gbps"); a != nil && b != nil &&
		c.SUT.Figure("lost_share") == nil && !near(float64(a.Median), float64(b.Median)) {
		bad("the receiver had %v Gbit/s, the sender %v", a.Median, b.Median)
	}
	slices.Sort(out)
	return out
}

// link returns the speed of the slower of both NICs, Gbit/s; 0: it is not known.
func (f *File) link() (gbps float64, where string) {
	for _, role := range ends.Roles {
		mbps, err := strconv.ParseFloat(f.Host(role, "nic/speed"), 64)
		if err == nil && mbps > 0 && (gbps == 0 || mbps/1000 < gbps) {
			gbps, where = mbps/1000, "of the "+role.Label()
		}
	}
	return gbps, where
}

// sums holds figures against those that they are made of.
func (e *End) sums(who string) (out []string) {
	rate, busy := e.Figure("throughput_gbps"), e.Figure("cpu_busy_cores")
	if ns := e.Figure("ns_per_kb"); ns != nil && rate != nil && busy != nil && rate.Median > 0 {
		// cores / (Gbit/s / 8) are CPU seconds per GB, and a thousandth of that per MB
		if want := 8000 * float64(busy.Median) / float64(rate.Median); !near(want, float64(ns.Median)) {
			out = append(out, fmt.Sprintf("%s: %v ns/kB, but cores and rate make %.4g", who, ns.Median, want))
		}
	}
	if j, w := e.Figure("joule_per_gb"), e.Figure("power_w"); j != nil && w != nil && rate != nil && rate.Median > 0 {
		if want := 8 * float64(w.Median) / float64(rate.Median); !near(want, float64(j.Median)) {
			out = append(out, fmt.Sprintf("%s: %v J/GB, but watts and rate make %.4g", who, j.Median, want))
		}
	}
	parts, all := 0.0, busy != nil
	for _, name := range []string{"cpu_app_cores", "cpu_sys_cores", "cpu_soft_cores"} {
		x := e.Figure(name)
		if all = all && x != nil; all {
			parts += float64(x.Median)
		}
	}
	if all && !near(parts, float64(busy.Median)) {
		out = append(out, fmt.Sprintf("%s: %v cores are busy, but their parts make %.4g", who, busy.Median, parts))
	}
	return out
}

// near reports whether two figures are about the same.
func near(a, b float64) bool {
	least, most := min(a, b), max(a, b)
	return most-least <= about*most+1e-3
}

// unproved reports a mode that claims zero copy without the kernel's word for it.
func (e *End) unproved(role ends.Role, c *Cell) []string {
	key, of := "rx", stream.RX
	if role == ends.TG {
		key, of = "tx", stream.TX
	}
	m, err := modes.Find(of, c.Setting(key))
	if err != nil || !m.Has(stream.ZeroCopy) {
		return nil
	}
	switch {
	case e.Proof == nil:
		return []string{fmt.Sprintf("%s: %s counts, without proof of zero copy", role.Label(), m.Name)}
	case e.Proof.CopiedShare() > mostCopied:
		return []string{fmt.Sprintf("%s: %s counts, but %.3g %% of its payload was copied", role.Label(), m.Name,
			100*e.Proof.CopiedShare())}
	}
	return nil
}
