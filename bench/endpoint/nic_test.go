// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tally"
)

// What the NIC counted between two readings; what began anew in between is left out.
func TestNICFigures(t *testing.T) {
	figures := func(w *nicWatch, from, to nicReading) map[string]float64 {
		out := map[string]float64{}
		for _, m := range w.figures(from, to, 2) {
			out[m.Name] = m.Value
		}
		return out
	}
	gro := func(made, wire uint64) nic.QueueStats {
		return nic.QueueStats{HWGRO: made, HWGROWire: wire, CountsGRO: true}
	}
	w := &nicWatch{split: driver.Own("softnic(mlx5)").SplitCounters}
	from := nicReading{queues: map[int]nic.QueueStats{0: gro(10, 100), 1: gro(1, 2)},
		irqs: map[string]uint64{"24": 100, "25": 1000}, split: []uint64{50, 40}, splitCounts: true}
	to := nicReading{queues: map[int]nic.QueueStats{0: gro(20, 300), 1: gro(1, 2)},
		irqs: map[string]uint64{"24": 120, "25": 7000}, split: []uint64{150, 139}, splitCounts: true}
	want := map[string]float64{"nic_hw_gro_packets": 10, "nic_hw_gro_wire_packets": 200, "nic_interrupts": 6020,
		"interrupts_per_s":                 3010,
		"nic_busiest_interrupt_per_second": 3000, "nic_split_share": .99}
	if d := cmp.Diff(want, figures(w, from, to)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	anew := to
	anew.queues, anew.irqs, anew.split = map[int]nic.QueueStats{0: gro(1, 2), 1: gro(1, 2)},
		map[string]uint64{"24": 1, "25": 7000}, []uint64{1, 1}
	if got := figures(w, from, anew); len(got) != 0 {
		t.Errorf("%v", got)
	}
	uncounted := nicReading{queues: map[int]nic.QueueStats{0: {}}}
	if got := figures(&nicWatch{}, uncounted, uncounted); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := (*nicWatch)(nil).figures(from, to, 2); got != nil {
		t.Errorf("%v", got)
	}
	mlx5 := &nicWatch{split: driver.Of("mlx5_core").SplitCounters}
	if got := figures(mlx5, nicReading{split: []uint64{0, 0}, splitCounts: true}, nicReading{split: []uint64{1000, 10},
		splitCounts: true}); got["nic_split_share"] != .99 {
		t.Errorf("%v", got)
	}
}

// Interrupts are those that the kernel counts. Where it has none, as of the lab's NIC, they are the
// driver's own, of each queue.
func TestInterruptsOf(t *testing.T) {
	w := &nicWatch{irqs: driver.Own("softnic(mlx5)").IRQCounter}
	own := &tally.Reading{Stats: []nic.Stat{{Name: "rx0_interrupts", Value: 3}, {Name: "rx1_interrupts", Value: 4},
		{Name: "rx0_packets", Value: 100}}}
	both := &tally.Reading{IRQs: map[int]uint64{24: 5}, Stats: own.Stats}
	for _, x := range []struct {
		w    *nicWatch
		of   *tally.Reading
		want map[string]uint64
	}{{w, own, map[string]uint64{"rx0_interrupts": 3, "rx1_interrupts": 4}}, {w, both, map[string]uint64{"24": 5}},
		{&nicWatch{}, own, map[string]uint64{}}} {
		if got, _ := x.w.interruptsOf(x.of); !cmp.Equal(got, x.want) {
			t.Errorf("%v, want %v", got, x.want)
		}
	}
}

func TestSummed(t *testing.T) {
	all := map[string]uint64{"rx0_packets": 1, "rx1_packets": 2, "rx0_wire_packets": 100, "rx_packets": 1000,
		"rx0_split_packets": 4}
	if d := cmp.Diff([]uint64{3, 4, 1000},
		summed(all, []string{"rx*_packets", "rx*_split_packets", "rx_packets"})); d != "" {
		t.Error(d)
	}
}
