// SPDX-License-Identifier: MIT

package tally

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

// What was counted in windows is added up, and nothing of what was counted between them; what came,
// went or began anew in one of them makes the area unknown, and no other.
func TestSum(t *testing.T) {
	at := func(ns int64, n uint64) *Reading {
		x := &Reading{AtNs: ns, Counts: []measure.Count{{Area: queue, Metric: "qstats_rx0_packets", Value: n},
			{Area: queue, Metric: "qstats_rx0_drops", Value: 1 << 40}},
			QStats: []nic.QStat{{Queue: 0, RX: true, Values: []nic.QValue{{Name: "rx-packets", Value: n}}}}}
		x.poolsAt = len(x.Counts)
		return x
	}
	irqs := func(n uint64) *Reading {
		return &Reading{Counts: []measure.Count{{Area: interrupt, Metric: "interrupts_rx0", Kind: measure.Counter32,
			Value: n}}, IRQs: map[int]uint64{9: n}, poolsAt: 1}
	}
	stats := func(n uint64) *Reading {
		return &Reading{Counts: []measure.Count{{Area: ethtool, Metric: "ethtool_x", Value: n}},
			Stats: []nic.Stat{{Name: "x", Value: n}}, poolsAt: 1}
	}
	all := map[string]*Sum{queue: {}, interrupt: {}, ethtool: {}}
	for _, n := range []uint64{10, 500} {
		all[queue].Add(at(int64(n)*1e9, n), at(int64(n+1)*1e9, n+7))
		all[interrupt].Add(irqs(1<<32-2), irqs(1<<32+1))
		all[ethtool].Add(stats(n), stats(n+1))
	}
	from, to, broken := Sums(all)
	d := Between(from, to)
	rows, idle, warnings := d.Rows(false)
	got := map[string]float64{}
	for _, m := range rows {
		got[m.Name] = m.Value
	}
	if len(broken)+len(warnings) > 0 || len(got) != 3 || got["qstats_rx0_packets"] != 14 ||
		got["interrupts_rx0"] != 6 ||
		got["ethtool_x"] != 2 || !slices.Equal(idle, []string{"qstats_rx0_drops"}) || d.Seconds != 2 {
		t.Errorf("%v in %g s, idle %q, %q, %q", got, d.Seconds, idle, broken, warnings)
	}
	if to.IRQs[9]-from.IRQs[9] != 6 || nic.RXStats(to.QStats)[0].Packets-nic.RXStats(from.QStats)[0].Packets != 14 ||
		to.Stats[0].Value != 2 || from.Stats[0].Value != 0 {
		t.Errorf("%+v, from %+v", to, from)
	}
	anew := at(0, 3)
	anew.Counts[0].Metric = "qstats_rx1_packets"
	for name, spoil := range map[string]func(){
		"reset":     func() { all[queue].Add(at(0, 9), at(1, 3)) },
		"recreated": func() { all[queue].Add(at(0, 1), anew) },
		"not read":  func() { all[queue].Add(at(0, 1), nil) },
	} {
		all[queue] = &Sum{}
		all[queue].Add(at(0, 1), at(1, 2))
		spoil()
		if _, to, broken := Sums(all); !slices.Equal(broken, []string{queue}) || len(to.Counts) != 2 {
			t.Errorf("%s: %q, %+v", name, broken, to.Counts)
		}
	}
	if from, to, broken := Sums(map[string]*Sum{queue: {}}); from != nil || to != nil || broken != nil {
		t.Error("of nothing something was counted")
	}
}
