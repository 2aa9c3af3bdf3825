// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// at are runs whose flow's CPUs had these frequencies, which the mean of 48 does not show.
func at(mhz ...float64) []results.Record {
	runs := series(make([]float64, len(mhz))...)
	for i := range runs {
		runs[i].SUT.ThroughputGbps, runs[i].TG.CPUMHz, runs[i].TG.FlowMHz = ptr(100.0), ptr(2990.0), &mhz[i]
	}
	return runs
}

func verdicts(runs []results.Record) string {
	var out []string
	for i := range runs {
		out = append(out, string(runs[i].Verdict[:1])+string(runs[i].FailedGate()))
	}
	return strings.Join(out, " ")
}

// A run at another frequency than its cell's others is spoilt, and they are not: while they
// run, as far as that is known, and whenever the journal is read.
func TestFrequency(t *testing.T) {
	g := plan.Gates{Frequency: ptr(.02)}
	for _, x := range []struct {
		name              string
		mhz               []float64
		inCourse, applied string
	}{
		{"steady", []float64{3000, 3010, 2990, 3000}, "o o o o", "o o o o"},
		{"one is slow", []float64{3000, 3000, 2900, 3000}, "o o ienvironment o", "o o ienvironment o"},
		{"the first is slow", []float64{2900, 3000, 3000, 3000}, "o o o o", "ienvironment o o o"},
		{"two runs tell nothing", []float64{3000, 2000}, "o o", "o o"},
	} {
		runs := at(x.mhz...)
		c := NewCourse(g)
		for i := range runs {
			c.Judge(&runs[i])
		}
		if got := verdicts(runs); got != x.inCourse {
			t.Errorf("%s, in their course: %s, want %s", x.name, got, x.inCourse)
		}
		j := journal(g, runs...)
		Apply(j)
		if got := verdicts(j.Records); got != x.applied {
			t.Errorf("%s: %s, want %s", x.name, got, x.applied)
		}
		for _, r := range j.Records {
			if (r.Verdict == results.Invalid) != strings.Contains(r.Reason,
				"TG: the CPU frequency is 2900 MHz, that of the cell's runs 3000 MHz") {
				t.Errorf("%s: %q", x.name, r.Reason)
			}
		}
	}
}

// Runs of a calibration are judged among themselves; other warm-ups are not.
func TestFrequencyOfCalibration(t *testing.T) {
	for flag, want := range map[string]string{results.FlagCalibration: "o o ienvironment o", "": "o o o o"} {
		c := NewCourse(plan.Gates{Frequency: ptr(.02)})
		plan := at(2900, 2900, 2900)
		for i := range plan {
			c.Judge(&plan[i])
		}
		runs := at(3000, 3000, 2900, 3000)
		for i := range runs {
			runs[i].Warmup, runs[i].Flags = true, []string{flag}
			c.Judge(&runs[i])
		}
		if got := verdicts(runs); got != want {
			t.Errorf("flag %q: %s, want %s", flag, got, want)
		}
	}
}

// In a short window, ticks leave more unknown: only what is foreign beyond that spoils a run.
func TestForeignIsSure(t *testing.T) {
	g := plan.DefaultGates()
	for _, x := range []struct {
		window, soft, foreign float64
		spoilt                bool
	}{
		{10, 0, .74, true}, {10, .3, .04, false}, {10, .3, .2, true},
		{.3, .4, .15, false}, {.3, .4, .74, true}, {.3, 0, .1, false},
	} {
		r := ok(10)
		r.SUT.Metrics = []measure.Metric{{Name: measure.MetricForeignCores, Of: []string{"3"}, Value: x.foreign},
			{Name: "cpu_window_s", Value: x.window},
			{Name: "cpu3_busy_cores", Value: 1}, {Name: "cpu3_soft_cores", Value: x.soft},
			{Name: "cpu3_uncertainty_cores", Value: .01 / x.window}}
		if Run(g, &r); r.Spoilt() != x.spoilt {
			t.Errorf("%+v: %s: %s", x, r.Verdict, r.Reason)
		}
	}
}

// The accounting of softirq is a sample of ticks: of 1000 quiet windows of each length, with
// all softirq outside of the benchmark's threads, next to none may seem to have foreign load.
func TestForeignOfQuietWindows(t *testing.T) {
	g := plan.DefaultGates()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, ticks := range []int{25, 100, 1000} {
		wrong := 0
		for range 1000 {
			const soft = .4 // of a CPU that is busy all the time
			n := 0
			for range ticks {
				if rng.Float64() < soft {
					n++
				}
			}
			seen := float64(n) / float64(ticks)
			r := ok(10)
			r.SUT.Metrics = []measure.Metric{{Name: measure.MetricForeignCores, Of: []string{"3"},
				Value: max(soft-seen, 0)}, {Name: "cpu_window_s", Value: float64(ticks) / 100},
				{Name: "cpu3_busy_cores", Value: 1}, {Name: "cpu3_soft_cores", Value: seen}}
			if Run(g, &r); r.Spoilt() {
				wrong++
			}
		}
		if wrong > 5 {
			t.Errorf("%d ticks: %d of 1000 quiet windows seem disturbed", ticks, wrong)
		}
	}
}

func ExampleRun() {
	r := ok(10)
	r.TG.Retrans = ptr(uint64(100))
	g := plan.DefaultGates()
	Run(g, &r)
	fmt.Println(r.Verdict, r.Flags)
	r = ok(10)
	r.TG.Retrans = ptr(uint64(100))
	g.Ask("retrans_per_gb", true)
	Run(g, &r)
	fmt.Println(r.Verdict, r.Gate)
	// Output:
	// ok [retrans_per_gb]
	// invalid outcome
}
