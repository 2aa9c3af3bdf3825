// SPDX-License-Identifier: MIT

package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
)

func TestCompareVerdicts(t *testing.T) {
	base := []float64{100, 101, 99, 100.5, 99.5, 100.2}
	scaled := func(f float64) (out []float64) {
		for _, v := range base {
			out = append(out, v*f)
		}
		return out
	}
	for _, x := range []struct {
		f          float64
		gbps, ns   Verdict
		worse2     bool
		possibly10 bool
	}{
		{.95, Slower, Unsure, true, false},   // costs of unequal work
		{.975, Slower, Unsure, false, false}, // by 2.5 %, but perhaps by less than 2 %
		{1.05, Faster, Unsure, false, false},
		{1, Unsure, Unsure, false, false},
		{.985, Slower, Unsure, false, false}, // the cost differs by what the rates do
		{1.015, Faster, Unsure, false, false},
	} {
		a, b := set("a", map[plan.Cell][]float64{tcp: base}), set("b", map[plan.Cell][]float64{tcp: scaled(x.f)})
		r, err := Compare(&a, &b, metrics(t, "throughput_gbps", "ns_per_kb"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows[0].Verdict != x.gbps || r.Rows[1].Verdict != x.ns {
			t.Errorf("x %v: %s and %s", x.f, r.Rows[0].Verdict, r.Rows[1].Verdict)
		}
		if r.Rows[0].Worse(.02) != x.worse2 || r.Rows[0].Possible(.10) != x.possibly10 {
			t.Errorf("x %v: worse %v, possible %v", x.f, r.Rows[0].Worse(.02), r.Rows[0].Possible(.10))
		}
	}
	few, b := set("few", map[plan.Cell][]float64{tcp: base[:5]}),
		set("b", map[plan.Cell][]float64{tcp: scaled(.5)})
	r, err := Compare(&few, &b, metrics(t, "throughput_gbps"))
	if err != nil || r.Rows[0].Verdict != Unsure || r.Rows[0].Worse(0) || !r.Rows[0].Possible(.02) {
		t.Errorf("5 runs: %+v, %v", r.Rows[0], err)
	}
}

// What is worse by less than the share is rarely taken for worse by more: its interval covers. What
// is worse by much more is found.
func TestWorseByMoreThan(t *testing.T) {
	rounds := long.Rounds(300, 2000)
	found := func(loss float64) (share float64) {
		rng, n := rand.New(rand.NewPCG(7, uint64(loss*1e6))), 0
		for range rounds {
			var a, b []float64
			for range 10 {
				a = append(a, 100*(1+.02*rng.NormFloat64()))
				b = append(b, 100*(1-loss)*(1+.02*rng.NormFloat64()))
			}
			x, y := set("a", map[plan.Cell][]float64{tcp: a}), set("b", map[plan.Cell][]float64{tcp: b})
			r, err := Compare(&x, &y, metrics(t, "throughput_gbps"))
			if err != nil {
				t.Fatal(err)
			}
			if r.Rows[0].Worse(.02) {
				n++
			}
		}
		return float64(n) / float64(rounds)
	}
	if share := found(.019); share > .05 {
		t.Errorf("a loss of 1.9 %% is taken for more than 2 %% in %.1f %%", 100*share)
	}
	if share := found(.06); share < .9 {
		t.Errorf("a loss of 6 %% is taken for more than 2 %% in %.1f %% only", 100*share)
	}
}
