// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

func figuresOf(r *results.Record) figures {
	f := figures{gbps: r.SUT.ThroughputGbps, verified: r.Cell.Touch == "verify", flags: r.Flags,
		sut: r.SUT.Env.Kernel, tg: r.TG.Env.Kernel, dev: strings.TrimSpace(r.SUT.Env.Dev + " " + r.SUT.Env.Driver)}
	if r.SUT.TotalBytes != nil {
		f.bytes = *r.SUT.TotalBytes
	}
	if c, z := r.SUT.CopiedBytes, r.SUT.ZeroCopyBytes; c != nil && z != nil && *c+*z > 0 {
		f.copied = new(100 * float64(*c) / float64(*c+*z))
	}
	return f
}

// summary sums up a mode whose runs are ok.
func (m *ksftMode) summary() []string {
	var rates, copied []float64
	var flags []string
	bytes, verified := uint64(0), true
	for _, f := range m.ok {
		if f.gbps != nil {
			rates = append(rates, *f.gbps)
		}
		if f.copied != nil {
			copied = append(copied, *f.copied)
		}
		bytes, verified = bytes+f.bytes, verified && f.verified
		for _, x := range f.flags {
			if !slices.Contains(flags, x) {
				flags = append(flags, x)
			}
		}
	}
	say := []string{runsText(len(m.ok)), fmt.Sprintf("%d bytes", bytes)}
	if verified {
		say = append(say, "each compared with what was sent")
	}
	if len(copied) > 0 {
		say = append(say, fmt.Sprintf("at most %.2g %% copied", slices.Max(copied)))
	}
	if s := stat.Summarize(rates); s != nil {
		say = append(say, fmt.Sprintf("%.3g Gbit/s", s.Median))
	}
	if len(flags) > 0 {
		say = append(say, "flags "+strings.Join(flags, " "))
	}
	out := []string{strings.Join(say, ", ")}
	if f := m.ok[0]; f.dev != "" {
		out = append(out, fmt.Sprintf("%s, Linux %s, sender Linux %s", f.dev, f.sut, f.tg))
	}
	return out
}
