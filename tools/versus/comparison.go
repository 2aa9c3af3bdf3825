// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/results/stat"
)

// Comparison is two ways to run the same flows and what is asked of the ratio
// ours / theirs.
type Comparison struct {
	Name         string
	Layout       Layout
	Load         Load
	Ours, Theirs Contender
	Throughput   stat.Target
	CPU          stat.Target // of CPU seconds per GB, both ends together
	RxCPU        stat.Target // of the receiver's
	Note         string      // what a reader must know about the pair
}

// Rival is another tool.
type Rival string

// The rivals.
const (
	Iperf3  Rival = "iperf3"
	Neper   Rival = "neper"
	Netperf Rival = "netperf" // has no several flows
)

var rivals = []Rival{Iperf3, Neper, Netperf}

// Field is what is compared: each way of each layout, number of flows and rival.
type Field struct {
	Layouts []Layout
	Flows   []int
	Rivals  []Rival
}

// The buffer sizes that are compared.
const (
	small = 128 << 10
	large = 1 << 20
)

// each does something for every load in every layout.
func (f Field) each(do func(Layout, Load)) {
	for _, flows := range f.Flows {
		for _, size := range []int{small, large} {
			for _, layout := range f.Layouts {
				do(layout, Load{Size: size, Flows: flows})
			}
		}
	}
}

// comparisons lists all pairs, for an iperf3 that can do what its help says.
func comparisons(t Tools, f Field) []Comparison {
	var cs []Comparison
	f.each(func(layout Layout, l Load) {
		for _, r := range f.Rivals {
			if r == Netperf && l.Flows > 1 {
				continue
			}
			theirs := t.rival(r, l)
			cs = append(cs,
				Comparison{Name: name("tcp", layout, l), Ours: t.zcbench("tcp", "tcp", l), Theirs: theirs,
					RxCPU: rxCPU(l)}.of(layout, l),
				Comparison{Name: name("uring", layout, l), Ours: t.zcbench("uring", "tcp", l),
					Theirs: theirs}.of(layout, l))
			if r == Iperf3 {
				cs = append(cs,
					Comparison{Name: name("sendfile", layout, l), Ours: t.zcbench("tcp", "sendfile", l),
						Theirs: t.iperf3(l, "-Z")}.of(layout, l),
					trunc(t, layout, l), bidir(t, layout, l))
			}
		}
	})
	return cs
}

func (t Tools) rival(r Rival, l Load) Contender {
	switch r {
	case Neper:
		return t.neper(l)
	case Netperf:
		return t.netperf(l)
	default:
		return t.iperf3(l)
	}
}

// of asks of the comparison what its layout and its flows let one ask: speed is claimed where
// one flow is bound by its receiver; elsewhere what is ours must not stand in the way.
func (c Comparison) of(layout Layout, l Load) Comparison {
	c.Layout, c.Load = layout, l
	switch {
	case l.Flows > 1:
		c.Throughput, c.CPU, c.RxCPU = stat.AtLeast(0.95, 0.95), stat.AtMost(1.05), stat.Target{}
	case layout == Together:
		c.Throughput, c.CPU = stat.AtLeast(1, 0.97), stat.AtMost(1)
	default:
		c.Throughput, c.CPU = stat.AtLeast(0.97, 0.97), stat.AtMost(1)
	}
	return c
}

// rxCPU returns the target for the receiver's CPU time of the mode tcp.
func rxCPU(l Load) stat.Target {
	if l.Size == large {
		return stat.AtMost(1.0)
	}
	return stat.AtMost(1.15)
}

func name(what string, layout Layout, l Load) string { return what + " " + l.in(layout) }

// in names a load in a layout.
func (l Load) in(layout Layout) string {
	s := units.Bytes(l.Size).String()
	if l.Flows > 1 {
		s += fmt.Sprintf(" x%d", l.Flows)
	}
	return s + " " + string(layout)
}

// trunc pairs the mode tcp-trunc with iperf3's own MSG_TRUNC, which came with
// 3.17, and with its fastest mode where it has none.
func trunc(t Tools, layout Layout, l Load) Comparison {
	c := Comparison{Name: name("tcp-trunc", layout, l), Ours: t.zcbench("tcp-trunc", "tcp", l)}.of(layout, l)
	if t.SkipRxCopy {
		c.Theirs = t.iperf3(l, "--skip-rx-copy")
		return c
	}
	// -Z is its fastest; with the same kind of sender, what is left between the
	// two is the receiver.
	c.Ours, c.Theirs = t.zcbench("tcp-trunc", "sendfile", l), t.iperf3(l, "-Z")
	c.Note = fmt.Sprintf("%s has no --skip-rx-copy (later versions have): sendfile to tcp-trunc is held against "+
		"-Z, the fastest that it has, which still copies at the receiver", t.IperfVersion)
	return c
}

// bidir pairs flows of both ways at once, whose figures are of the sum.
func bidir(t Tools, layout Layout, l Load) Comparison {
	c := Comparison{Name: name("both ways", layout, l), Ours: t.bothWays(l),
		Theirs: t.iperf3(l, "--bidir")}.of(layout, l)
	c.Theirs.Both, c.Note = true, "figures are of both ways together"
	c.Throughput, c.CPU = stat.AtLeast(1, 1), stat.AtMost(1.05)
	return c
}

// builds lists all pairs of two builds of zcbench, without targets.
func builds(ours, theirs Tools, f Field) []Comparison {
	var cs []Comparison
	f.each(func(layout Layout, l Load) {
		for _, m := range []struct{ name, rx, tx string }{{"tcp", "tcp", "tcp"}, {"sendfile", "tcp", "sendfile"},
			{"uring", "uring", "tcp"}, {"tcp-trunc", "tcp-trunc", "tcp"}} {
			c := Comparison{Name: name(m.name, layout, l), Layout: layout, Load: l, Ours: ours.zcbench(m.rx, m.tx, l),
				Theirs: theirs.zcbench(m.rx, m.tx, l)}
			c.Theirs.Name = "the other build, " + m.name // than that of ours
			cs = append(cs, c)
		}
	})
	return cs
}

// parseRivals reads names of rivals, each of which may come once.
func parseRivals(names []string) ([]Rival, error) {
	var out []Rival
	for _, name := range names {
		r := Rival(name)
		if !slices.Contains(rivals, r) {
			return nil, fmt.Errorf("%q is not a rival: choose from %s", name, list(rivals))
		}
		if slices.Contains(out, r) {
			return nil, fmt.Errorf("%s is named twice", r)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no rival named: choose one or more of %s", list(rivals))
	}
	return out, nil
}
