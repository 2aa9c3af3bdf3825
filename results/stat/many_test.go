// SPDX-License-Identifier: MIT

package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// What is looked for among the averages of many pairs is what their list would have.
func TestAveragesOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 50))
	for _, n := range []int{mostListed + 1, 2 * mostListed} {
		ours, theirs := make([]float64, n), make([]float64, n)
		var logs, all []float64
		for i := range ours {
			ours[i], theirs[i] = math.Round(20+4*rng.NormFloat64()), math.Round(20+4*rng.NormFloat64()) // with ties
			logs = append(logs, math.Log(ours[i]/theirs[i]))
			for _, y := range logs {
				all = append(all, (logs[i]+y)/2)
			}
		}
		slices.Sort(all)
		a := averagesOf(ours, theirs)
		if a.n != len(all) || a.listed != nil {
			t.Fatal(a.n, len(all))
		}
		for _, k := range []int{0, 1, n, len(all) / 3, len(all) / 2, len(all) - 1} {
			if got := a.at(k); got != all[k] {
				t.Errorf("%d of %d: %v, want %v", k, len(all), got, all[k])
			}
		}
	}
	if got := Pairs(slices.Repeat([]float64{math.MaxFloat64}, 2*mostListed), slices.Repeat([]float64{1e-300},
		2*mostListed)); !math.IsInf(got.Estimate, 1) {
		t.Error(got)
	}
}

// Where the distribution is taken for normal, the interval is as the counted one was, or a step
// wider.
func TestSignedRankOfMany(t *testing.T) {
	k, conf := countSignedRank(mostListed)
	near, nearly := normalSignedRank(mostListed)
	if k-near < 0 || k-near > 1 || math.Abs(conf-nearly) > 1e-4 || conf < confidence || nearly < confidence {
		t.Errorf("%d at %v, and %d at %v", near, nearly, k, conf)
	}
}

// A comparison of twice as many runs takes twice the memory: no list of all pairs, whatever blocks,
// boots and sessions they are of, and none of equal values, which each would be passed for each.
func TestContrastOfManyRuns(t *testing.T) {
	for name, of := range map[string]func(side string, i int) Run{
		"blocks":   func(_ string, i int) Run { return Run{Boot: "b", Session: "s", Rep: i} },
		"a place":  func(string, int) Run { return Run{Boot: "b", Session: "s"} },
		"sessions": func(side string, i int) Run { return Run{Session: fmt.Sprint(side, i)} },
		"boots":    func(_ string, i int) Run { return Run{Boot: fmt.Sprint(i)} },
	} {
		t.Run(name, func(t *testing.T) {
			bytes := func(n int) float64 {
				a, b := make([]Run, n), make([]Run, n)
				for i := range n {
					a[i], b[i] = of("a", i), of("b", i)
					a[i].Value, b[i].Value = 20, 21
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				of := Between{Boots: Spread{.01, 5}, Starts: Spread{.01, 5}}
				Contrast(a, b, of)
				ShiftOf(a, b, of)
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc - before.TotalAlloc)
			}
			bytes(100)
			one, two := bytes(4000), bytes(8000)
			if t.Logf("%.1f and %.1f MB", one/1e6, two/1e6); two > 2.5*one || two > 100e6 {
				t.Errorf("%.0f bytes for 4,000 runs, %.0f for 8,000", one, two)
			}
		})
	}
}
