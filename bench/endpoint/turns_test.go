// SPDX-License-Identifier: MIT

package endpoint

import (
	"reflect"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// All cores of a run in turns are of its duration, so that a CPU that is full in its turns looks
// so; load of others is of the time in which it was looked for.
func TestScale(t *testing.T) {
	h := results.Host{DurationS: new(.8), CPUBusyCores: new(.8), IOWaitCores: new(.4), CPUPollerCores: new(.2),
		Flows: []results.Flow{{ThreadCores: new(.8)}},
		Metrics: []measure.Metric{{Name: "cpu1_busy_cores", Unit: "cores", Value: .8},
			{Name: "foreign_cpu1_low_cores", Unit: "cores", Value: .1}, {Name: "flow_calls", Unit: "1", Value: 7},
			{Name: "link_rx_packets", Value: 800, PerSecond: new(800.)}}}
	new(turnReader).scale(&h, 1)
	for i, x := range []struct{ got, want float64 }{{*h.CPUBusyCores, 1}, {*h.IOWaitCores, .5},
		{*h.CPUPollerCores, .25},
		{*h.Flows[0].ThreadCores, 1}, {h.Metrics[0].Value, 1}, {h.Metrics[1].Value, .1}, {h.Metrics[2].Value, 7},
		{h.Metrics[3].Value, 800}, {*h.Metrics[3].PerSecond, 1000}} {
		if d := x.got - x.want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%d: %v, want %v", i, x.got, x.want)
		}
	}
}

// A turn is left out for the time at which it was read, and for others' bytes, as a whole; not for
// what its own flow did.
func TestTurnsThatCount(t *testing.T) {
	const ms = 1_000_000
	r := turnReader{sch: &wire.Turns{OnNs: 60 * ms, DrainNs: 10 * ms, LeadNs: 3 * ms}}
	for i, x := range []struct {
		before, after int64
		end           int64 // of reading, after that
		latePace      bool
		crowd, bytes  uint64
		want          bool
	}{
		{98 * ms, 171 * ms, 0, false, 0, 1000, true},
		{98 * ms, 171 * ms, 0, false, 0, 0, true}, // nothing came: it counts
		{98 * ms, 172 * ms, 3 * ms, false, 10, 1000, true},
		{101 * ms, 171 * ms, 0, false, 0, 1000, false},
		{98 * ms, 173 * ms, 0, false, 0, 1000, false},
		{98 * ms, 172 * ms, 3*ms + 1, false, 0, 1000, false}, // the next began
		{98 * ms, 173 * ms, 0, true, 0, 1000, false},
		{98 * ms, 171 * ms, 0, true, 0, 1000, false},
		{98 * ms, 171 * ms, 0, false, 11, 1000, false},
	} {
		if got := r.counts(100*ms, x.before, x.after, x.after+x.end, x.latePace, x.crowd, x.bytes); got != x.want {
			t.Errorf("%d: counts %v", i, got)
		}
	}
	want := wire.TurnsResult{Turns: 9, LeftOut: 6, Missed: 2, LateCPU: 4, Crowded: 1}
	if !reflect.DeepEqual(r.res, want) || r.res.Check() != nil {
		t.Errorf("%+v, want %+v", r.res, want)
	}
	if m := r.metrics(); len(m) != 1 || m[0].Value != 6 {
		t.Errorf("%+v", m)
	}
}

// Turns of which tasks do not tell who had the CPUs are left out; where too few would remain all
// count, and ticks tell.
func TestTurnsUntold(t *testing.T) {
	for _, x := range []struct{ turns, late, untold, leftOut, booked int }{
		{20, 0, 0, 0, 20}, {20, 0, 1, 1, 19}, {20, 0, 5, 5, 15}, {20, 2, 3, 5, 15},
		{20, 0, 6, 0, 20}, {20, 2, 4, 2, 18}, {4, 0, 1, 0, 4}, {20, 6, 0, 6, 14},
	} {
		r := turnReader{res: wire.TurnsResult{Turns: x.turns, LeftOut: x.late, LateCPU: x.late}}
		booked := 0
		for i := range x.turns - x.late {
			r.book(i < x.untold, func() { booked++ })
		}
		r.orByTicks()
		if booked != x.booked || r.res.LeftOut != x.leftOut || r.res.LeftOut-x.late != r.res.Untold ||
			r.res.Check() != nil {
			t.Errorf("%+v: booked %d, %+v", x, booked, r.res)
		}
	}
}

// What flows did in turns that count is all that is in the window.
func TestTurnsKept(t *testing.T) {
	var r turnReader
	at := func(n uint64) []stream.Counters { return []stream.Counters{{Bytes: n, Calls: n / 10}, {Bytes: 2 * n}} }
	r.keep(at(100), at(200))
	r.keep(at(500), at(700)) // between them is one that does not count
	from, to := edge{flows: at(50)}, edge{flows: at(900)}
	r.between(&from, &to)
	if d := sum(to.flows).Sub(sum(from.flows)); d.Bytes != 900 || d.Calls != 30 {
		t.Errorf("%+v", d)
	}
	to = edge{flows: at(900)}
	if new(turnReader).between(&from, &to); to.flows[0] != from.flows[0] {
		t.Errorf("no turn counts, and %+v passed", to.flows)
	}
}

// A flow that holds its pace has the rate of whole turns, whatever passed in the parts at pace; one
// that is slower, or has no pace, that of these parts.
func TestRateOfWholeTurns(t *testing.T) {
	const ms, bytes = 1_000_000, 100_000 // of a part at pace of 18 ms, in turns of 24 ms
	for _, x := range []struct {
		pace       int
		whole      uint64
		ns         int64 // of all
		wholeTurns bool
	}{
		{0, 50 * 24 * 5000, 40 * 18 * ms, false},
		{40e6, 40 * 24 * 5000, 40 * 18 * ms, true},          // all that was due
		{40e6, 40 * 24 * 5000 * 992 / 1000, 0, true},        // no part at pace was read
		{40e6, 40 * 24 * 5000 * 985 / 1000, 18 * ms, false}, // slower
	} {
		r := turnReader{sch: &wire.Turns{OnNs: 24 * ms}, whole: x.whole,
			res: wire.TurnsResult{Turns: 50, LeftOut: 10, Paced: bytes, PaceNs: x.ns}}
		r.ofWholeTurns(x.pace)
		want := r.res
		if want.Paced, want.PaceNs = bytes, x.ns; x.wholeTurns {
			want.Paced, want.PaceNs = x.whole, 40*24*ms
		}
		if !reflect.DeepEqual(r.res, want) {
			t.Errorf("%+v: %+v", x, r.res)
		}
	}
}

// samples.csv has a row for each turn that counts, in the order of time, and never more than there
// is room for; of whole turns where the run's rate is of these.
func TestTurnSamples(t *testing.T) {
	var s turnSamples
	if s.add(sample{atNs: 1, paceNs: 1}); s.series(0) != nil {
		t.Error("a run without samples has some")
	}
	s.makeRoom(3)
	for _, x := range []sample{{500, 7000, 100, 1000, 3000}, {900, 9000, 100, 3000, 4000}, {700, 8000, 100, 2000, 3500},
		{1100, 9999, 100, 1, 1}} {
		s.add(x)
	}
	want := func(rates ...float64) {
		t.Helper()
		got := s.series(400)
		if len(got) != 2 || got[0].Name != "flow_bytes" || !slices.Equal(got[0].V, []float64{7000, 8000, 9000}) ||
			got[1].Name != "throughput_gbps" || got[1].Unit != "Gbit/s" ||
			!slices.Equal(got[1].T, []int64{100, 300, 500}) || !slices.Equal(got[1].V, rates) {
			t.Errorf("%+v", got)
		}
	}
	want(80, 160, 240)
	s.ofWholeTurns(200)
	want(120, 140, 160)
}
