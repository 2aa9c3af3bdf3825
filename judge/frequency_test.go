// SPDX-License-Identifier: MIT

package judge

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// A run at another frequency than its cell's others is flagged, with how far it is from them, and
// counts, whatever a file asks for. That of all CPUs, idle ones among them, flags none.
func TestFrequency(t *testing.T) {
	asked := plan.Gates{Frequency: ptr(.02)}
	asked.Ask(plan.FrequencyGate, true)
	for _, x := range []struct {
		name    string
		gates   plan.Gates
		mhz     []float64
		flagged []int
		says    string
	}{
		{"steady", asked, []float64{3000, 3010, 2990, 3000}, nil, ""},
		{"one is slow", plan.DefaultGates(), []float64{3000, 3000, 2900, 3000}, []int{2},
			"TG: the CPU frequency is 2900 MHz, -3.3 % from that of the cell's runs, 3000 MHz (median; limit 2 %)"},
		{"the first is fast", asked, []float64{3300, 3000, 3000, 3000}, []int{0}, "is 3300 MHz, +10.0 % from"},
		{"two runs tell nothing", asked, []float64{3000, 2000}, nil, ""},
		{"nobody asks", plan.Gates{}, []float64{3000, 3000, 2900, 3000}, nil, ""},
	} {
		runs := series(make([]float64, len(x.mhz))...)
		for i := range runs {
			// of all CPUs, as journals of older versions have it: it is of no use
			runs[i].SUT.ThroughputGbps, runs[i].SUT.CPUMHz = ptr(100.0), ptr(1000*float64(1+i%2))
			runs[i].TG.FlowMHz = &x.mhz[i]
			Run(x.gates, &runs[i])
		}
		j := journal(x.gates, runs...)
		Apply(j)
		for i, r := range j.Records {
			is := slices.Contains(r.Flagged(), plan.FrequencyGate)
			if r.Verdict != results.OK || is != slices.Contains(x.flagged, i) ||
				is != strings.Contains(strings.Join(r.Warnings, "; "), "CPU frequency") ||
				is && !strings.Contains(strings.Join(r.Warnings, "; "), x.says) {
				t.Errorf("%s: run %d is %s, %q: %q", x.name, i, r.Verdict, r.Flagged(), r.Warnings)
			}
		}
	}
}

// A mode that slows its CPU down in some of its runs keeps these: true means of 99.2 and 100 are
// never told as its lead.
func TestSlowClockIsKept(t *testing.T) {
	const reps = 12
	led, flagged := 0, 0
	rounds := long.Rounds(20, 400)
	for round := range rounds {
		steady := plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 100, CV: .002}
		throttles := plantest.Cell{Cell: plantest.Modes("uring", "tcp"), Gbps: 104, CV: .002}
		j := plantest.Journal(uint64(round), reps, steady, throttles)
		j.Header.Plan.Gates = plan.DefaultGates()
		slow := rand.New(rand.NewPCG(uint64(round), 1)).Perm(reps)[:reps/3]
		for i := range j.Records {
			r := &j.Records[i]
			mhz, rate := 3000., 1.
			if r.Cell.RX == "uring" && slices.Contains(slow, r.Rep) {
				mhz, rate = 2584, 89.6/104 // so that the mean is 99.2
			}
			r.SUT.FlowMHz, r.SUT.ThroughputGbps = &mhz, ptr(rate**r.SUT.ThroughputGbps)
			Run(j.Header.Plan.Gates, r)
		}
		Apply(&j)
		s := report.Summarize(j)
		if s.Cells[1].OK != reps {
			t.Fatalf("%d of %d runs count", s.Cells[1].OK, reps)
		}
		if slices.Contains(s.Cells[1].Flagged, plan.FrequencyGate) {
			flagged++
		}
		if compared(t, s).Verdict == compare.Faster {
			led++
		}
	}
	if led > rounds/20 || flagged != rounds {
		t.Errorf("it leads in %d of %d reports, and is flagged in %d", led, rounds, flagged)
	}
}
