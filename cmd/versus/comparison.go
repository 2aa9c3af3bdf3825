// SPDX-License-Identifier: MIT

package main

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/results/stat"
)

// Comparison is two ways to run the same flow and what is asked of the ratio
// ours / theirs.
type Comparison struct {
	Name         string
	Ours, Theirs Contender
	Throughput   stat.Target
	CPU          stat.Target // of receiver CPU seconds per GB
	Note         string      // what a reader must know about the pair
}

// The buffer sizes that are compared.
const (
	small = 128 << 10
	large = 1 << 20
)

// comparisons are all pairs, for an iperf3 that can do what its help says.
func comparisons(t Tools) []Comparison {
	faster := stat.AtLeast(1.0, 0.97)
	var cs []Comparison
	for _, size := range []int{small, large} {
		cpu := stat.AtMost(1.15)
		if size == large {
			cpu = stat.AtMost(1.0)
		}
		cs = append(cs,
			Comparison{Name: name("tcp", size), Ours: t.zcbench("tcp", "tcp", size), Theirs: t.iperf3(size), Throughput: faster, CPU: cpu},
			Comparison{Name: name("sendfile", size), Ours: t.zcbench("tcp", "sendfile", size), Theirs: t.iperf3(size, "-Z"), Throughput: faster},
			Comparison{Name: name("uring", size), Ours: t.zcbench("uring", "tcp", size), Theirs: t.iperf3(size), Throughput: faster},
			trunc(t, size, faster))
	}
	return cs
}

func name(what string, size int) string {
	return fmt.Sprintf("%s %s", what, units.Bytes(size))
}

// trunc pairs the mode tcp-trunc with iperf3's own MSG_TRUNC, which came with
// 3.17, and with its fastest mode where it has none.
func trunc(t Tools, size int, faster stat.Target) Comparison {
	c := Comparison{Name: name("tcp-trunc", size), Ours: t.zcbench("tcp-trunc", "tcp", size), Throughput: faster}
	if t.SkipRxCopy {
		c.Theirs = t.iperf3(size, "--skip-rx-copy")
		return c
	}
	// -Z is its fastest; with the same kind of sender, what is left between the
	// two is the receiver.
	c.Ours, c.Theirs = t.zcbench("tcp-trunc", "sendfile", size), t.iperf3(size, "-Z")
	c.Note = fmt.Sprintf("%s has no --skip-rx-copy (later versions have): sendfile to tcp-trunc is held against -Z, the fastest that it has, which still copies at the receiver", t.IperfVersion)
	return c
}

// builds are all pairs of two builds of zcbench; nothing is asked of them.
func builds(ours, theirs Tools) []Comparison {
	var cs []Comparison
	for _, size := range []int{small, large} {
		for _, m := range []struct{ name, rx, tx string }{{"tcp", "tcp", "tcp"}, {"sendfile", "tcp", "sendfile"}, {"uring", "uring", "tcp"}, {"tcp-trunc", "tcp-trunc", "tcp"}} {
			c := Comparison{Name: name(m.name, size), Ours: ours.zcbench(m.rx, m.tx, size), Theirs: theirs.zcbench(m.rx, m.tx, size)}
			c.Theirs.Name = "the other build"
			cs = append(cs, c)
		}
	}
	return cs
}
