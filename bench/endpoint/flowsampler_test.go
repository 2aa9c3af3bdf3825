// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
)

// The record has the first flow's series alone, under their own names.
func TestThinFlow(t *testing.T) {
	var all []measure.Series
	for _, name := range []string{"throughput_gbps", "flow0_tcp_srtt_us", "flow1_tcp_srtt_us", "tcp_cwnd_packets",
		"tcp_none"} {
		s := measure.Series{Name: name}
		for k := range int64(1000) {
			s.T, s.V = append(s.T, k*1e6), append(s.V, float64(k))
		}
		all = append(all, s)
	}
	all[4].T, all[4].V = nil, nil
	got := thinFlow(all)
	if len(got) != 2 || got[0].Name != "tcp_srtt_us" || got[1].Name != "tcp_cwnd_packets" ||
		len(got[0].T) != plotPoints || len(got[0].V) != plotPoints {
		t.Errorf("%+v", got)
	}
	if len(all[1].T) != 1000 || all[1].Name != "flow0_tcp_srtt_us" {
		t.Error("what samples.csv has was changed")
	}
}

func TestFlowInterval(t *testing.T) {
	for _, x := range []struct {
		length time.Duration
		flows  int
		want   time.Duration
		wished bool
	}{
		{time.Second, 1, 10 * time.Millisecond, true},
		{10 * time.Second, 1, 20 * time.Millisecond, true},
		{time.Minute, 1, 100 * time.Millisecond, true},
		{10 * time.Minute, 1, 100 * time.Millisecond, true},
		{10 * time.Second, 64, 77 * time.Millisecond, false},
		{time.Hour, 8, 3457 * time.Millisecond, false},
	} {
		interval, wish := flowInterval(x.length, x.flows)
		if interval != x.want || (interval == wish) != x.wished {
			t.Errorf("%v, %d flows: %v, wished %v", x.length, x.flows, interval, wish)
		}
		if points := int(x.length/interval) * x.flows * counter.FlowFigures(); points > mostFlowPoints {
			t.Errorf("%v, %d flows: %d points", x.length, x.flows, points)
		}
	}
}

// In turns, too, all that is sampled fits, and turns of both halves of rounds are sampled.
func TestTurnsApart(t *testing.T) {
	for _, x := range []struct{ turns, flows, want int }{{84, 1, 1}, {5000, 1, 1}, {84, 64, 1}, {5000, 8, 5},
		{5000, 64, 39}, {10, 0, 1}} {
		every := turnsApart(x.turns, x.flows)
		if points := (x.turns + every - 1) / every * x.flows * counter.FlowFigures(); every != x.want || every%2 == 0 ||
			points > mostFlowPoints {
			t.Errorf("%d turns of %d flows: one of %d, %d points", x.turns, x.flows, every, points)
		}
	}
	s := counter.OpenFlowSampler(counter.FlowSamplerConfig{Interval: 3 * time.Second, Expect: 9 * time.Second,
		Every: 3})
	for range 9 {
		s.Draw()
	}
	if m := s.Samples(0).Metrics; m[1].Name != "tcp_sampler_samples" || m[1].Value != 3 {
		t.Errorf("%+v", m)
	}
}
