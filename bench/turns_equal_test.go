// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Two equal cells in turns, start by start: how far the ratios of their rates and CPU times are
// from 1. ZCBENCH_STARTS says how many of 1 s; shorter ones are of make test. CPU time is exact
// where root asks.
func TestIntegrationTurnsOfEqual(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	a, b := fast("tcp", "read"), fast("tcp", "read")
	a.ID, b.ID = "a", "b"
	runs := r.inTurns(a, b)
	starts, _ := strconv.Atoi(os.Getenv("ZCBENCH_STARTS"))
	if starts > 0 {
		r.Runner.Opt.Duration = time.Second
	}
	var rates, costs []float64
	for n := range max(starts, 6) {
		if n%2 == 1 {
			slices.Reverse(runs)
		}
		by := map[string]*results.Record{}
		recs := r.Runner.RunTogether(t.Context(), runs)
		for i := range recs {
			if recs[i].Verdict != results.OK {
				t.Logf("start %d, %s: %s", n, recs[i].Verdict, recs[i].Reason)
			}
			by[recs[i].Cell.ID] = &recs[i]
		}
		x, y := &by["a"].SUT, &by["b"].SUT
		for _, h := range []*results.Host{x, y, &by["a"].TG, &by["b"].TG} {
			i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "cpu_busy_cores" })
			if i >= 0 && h.Metrics[i].Source != measure.ByTasks {
				t.Errorf("start %d: CPU time is of %s", n, h.Metrics[i].Source)
			}
		}
		if by["a"].Verdict != results.OK || by["b"].Verdict != results.OK {
			continue
		}
		rates = append(rates, math.Log(*y.ThroughputGbps / *x.ThroughputGbps))
		if u, v := x.NsPerKB(), y.NsPerKB(); u != nil && v != nil {
			costs = append(costs, math.Log(*v / *u))
		}
	}
	for name, logs := range map[string][]float64{"rate": rates, "CPU time": costs} {
		if len(logs) < 2 {
			t.Logf("%s: only %d starts tell", name, len(logs))
			continue
		}
		if starts > 0 {
			t.Logf("%s: intervals of 6 of these starts cover 1 in %.1f %% of draws", name, 100*covered(logs, 6))
		}
		mean, sd := meanSD(logs)
		t.Logf("%s, %d starts of two equal cells: geometric mean %.4f, spread of a start %.2f %%", name, len(logs),
			math.Exp(mean), 100*sd)
		if limit := 5*sd/math.Sqrt(float64(len(logs))) + .02; math.Abs(mean) > limit {
			t.Errorf("%s: equal cells differ by %.1f %%, more than their spread explains", name, 100*mean)
		}
	}
}

// covered draws so many logarithms of ratios again and again, and returns how often the interval of
// their mean contains 0.
func covered(logs []float64, n int) float64 {
	const draws = 2000
	r, covers := rand.New(rand.NewPCG(1, 1)), 0
	for range draws {
		r.Shuffle(len(logs), func(i, j int) { logs[i], logs[j] = logs[j], logs[i] })
		if _, lo, hi, ok := stat.MeanInterval(logs[:min(n, len(logs))], 1); ok && lo <= 0 && hi >= 0 {
			covers++
		}
	}
	return float64(covers) / draws
}

func meanSD(all []float64) (mean, sd float64) {
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		sd += (v - mean) * (v - mean) / float64(len(all)-1)
	}
	return mean, math.Sqrt(sd)
}
