// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

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
