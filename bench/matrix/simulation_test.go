// SPDX-License-Identifier: MIT

package matrix_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

var writePower = flag.Bool("power", false, "write docs/statistics.md's table of power anew, which takes minutes")

// noise makes what a machine does to the runs of a plan besides what their cells can: a
// factor for each, in their order.
type noise struct {
	name string
	of   func(rng *rand.Rand, plan []matrix.Run) []float64
	// boots is of how many boots the plan is, one after another.
	boots int
}

// each makes noise of one run from its place, 0 to 1, and the cell before it.
func each(f func(rng *rand.Rand, at float64, before string) float64) func(*rand.Rand, []matrix.Run) []float64 {
	return func(rng *rand.Rand, plan []matrix.Run) []float64 {
		out, before := make([]float64, len(plan)), ""
		for i, p := range plan {
			out[i], before = f(rng, float64(i)/float64(len(plan)), before), p.Cell.ID
		}
		return out
	}
}

func drift(rng *rand.Rand, plan []matrix.Run) []float64 {
	slope, phase := (rng.Float64()*2-1)*.02, rng.Float64()*2*math.Pi
	return each(func(rng *rand.Rand, at float64, _ string) float64 {
		return (1 + slope*at + .004*math.Sin(phase+2*math.Pi*at)) * (1 + .007*rng.NormFloat64())
	})(rng, plan)
}

// autocorrelated noise is that of slow things, such as heat: most of a run's is the last
// one's. It is 1 % in all.
func autocorrelated(rng *rand.Rand, plan []matrix.Run) []float64 {
	const phi = .8
	x := rng.NormFloat64()
	return each(func(rng *rand.Rand, _ float64, _ string) float64 {
		x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		return 1 + .01*x
	})(rng, plan)
}

// noises are the machines that verdicts have to be right on.
var noises = []noise{
	{name: "even, CV 1 %", of: each(func(rng *rand.Rand, _ float64, _ string) float64 { return 1 + .01*rng.NormFloat64() })},
	{name: "drift of 2 % and a wave, CV .7 %", of: drift},
	{name: "carry-over: 2 % lost after a hot cell, CV .7 %", of: each(func(rng *rand.Rand, _ float64, before string) float64 {
		v := 1 + .007*rng.NormFloat64()
		if before == hot {
			v *= .98
		}
		return v
	})},
	{name: "boots: 4 in a plan, 1 % apart, CV .3 %", boots: 4, of: func(rng *rand.Rand, plan []matrix.Run) []float64 {
		var mean [4]float64
		for i := range mean {
			mean[i] = 1 + .01*rng.NormFloat64()
		}
		return each(func(rng *rand.Rand, at float64, _ string) float64 {
			return mean[int(4*at)] * (1 + .003*rng.NormFloat64())
		})(rng, plan)
	}},
	{name: "heavy tails: Student's t of 2 degrees of freedom, x .5 %", of: each(func(rng *rand.Rand, _ float64, _ string) float64 {
		chi := rng.ExpFloat64() // half of a chi square of 2 degrees of freedom
		return max(.1, 1+.005*rng.NormFloat64()/math.Sqrt(chi))
	})},
	{name: "bimodal: every second run loses 5 %, by chance, CV .5 %", of: each(func(rng *rand.Rand, _ float64, _ string) float64 {
		return (1 - .05*float64(rng.IntN(2))) * (1 + .005*rng.NormFloat64())
	})},
	{name: "power: AR(1), .8 from run to run, CV 1 %", of: autocorrelated},
}

// hot is a cell that other cells may suffer from; it is in no comparison.
const hot = "hot"

// compared is how many cells are held against the baseline, one family.
const compared = 4

// experiment plays a plan in the order that real ones have, on a machine with such noise; of
// the cells that are compared the first is different by effect. It goes the way of real
// records: sets, pairs, families, verdicts. It returns the verdicts.
func (n noise) experiment(t *testing.T, rng *rand.Rand, reps int, effect float64) []compare.Verdict {
	t.Helper()
	cells := []results.Cell{{ID: "base", RX: "tcp", TX: "tcp"}}
	for i := range compared {
		cells = append(cells, results.Cell{ID: fmt.Sprint("c", i), RX: "tcp", TX: "tcp", MTU: 1500 + i})
	}
	plan := matrix.Interleave(append(cells, results.Cell{ID: hot, RX: "tcp", TX: "tcp", MTU: 9000}), reps, true, rng.Uint64())
	j := results.Journal{Header: results.Header{Cells: cells}}
	factors := n.of(rng, plan)
	for i, p := range plan {
		if p.Warmup || p.Cell.ID == hot {
			continue
		}
		gbps := 100 * factors[i]
		if p.Cell.ID == "c0" {
			gbps *= effect
		}
		r := results.Record{Cell: p.Cell, Block: p.Block, Rep: p.Rep, SessionID: "s", Verdict: results.OK, Schema: results.SchemaVersion}
		r.SUT.Env.BootID, r.TG.Env.BootID = "sut", "tg"
		if n.boots > 0 {
			boot := fmt.Sprint(n.boots * i / len(plan))
			r.SessionID, r.SUT.Env.BootID = boot, boot
		}
		r.SUT.ThroughputGbps = &gbps
		j.Records = append(j.Records, r)
	}
	set := compare.NewSet("s", j)
	metrics, err := compare.Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := compare.Within(&set, cells[0], metrics)
	if err != nil || len(r.Rows) != compared {
		t.Fatalf("%d rows, %v", len(r.Rows), err)
	}
	out := make([]compare.Verdict, compared)
	for i := range r.Rows {
		out[i] = r.Rows[i].Verdict
	}
	return out
}

// Whatever the noise: of experiments in which all cells are equal at most 5 % call any of them
// different, and two standard errors more, as so many rounds tell it.
func TestFalseVerdicts(t *testing.T) {
	rounds := long.Rounds(200, 4000)
	for _, n := range noises {
		for _, reps := range []int{6, 8, 12} {
			rng, wrong := rand.New(rand.NewPCG(18, uint64(reps))), 0
			for range rounds {
				for _, v := range n.experiment(t, rng, reps, 1) {
					if v != compare.Unsure {
						wrong++
						break
					}
				}
			}
			t.Logf("%s, %d runs: %d of %d experiments call equal cells different", n.name, reps, wrong, rounds)
			if most := .05 + 2*math.Sqrt(.05*.95/float64(rounds)); float64(wrong) > most*float64(rounds) {
				t.Errorf("%s, %d runs: %d of %d experiments call equal cells different", n.name, reps, wrong, rounds)
			}
		}
	}
}

// power is how often the difference is found, and the wrong sign.
func (n noise) power(t *testing.T, reps, rounds int, effect float64) (found, wrong float64) {
	rng := rand.New(rand.NewPCG(uint64(reps), uint64(1e4*effect)))
	for range rounds {
		switch n.experiment(t, rng, reps, effect)[0] {
		case compare.Faster:
			found++
		case compare.Slower:
			wrong++
		}
	}
	return found / float64(rounds), wrong / float64(rounds)
}

// By the repetitions that a plan proposes, 2 % is found in 80 % of experiments, where runs vary
// by 1 % and nothing else is wrong.
func TestProposedRepetitions(t *testing.T) {
	reps, ok := stat.RunsFor(compared, 2)
	rounds := long.Rounds(200, 4000)
	found, wrong := noises[0].power(t, reps, rounds, 1.02)
	t.Logf("%d runs find 2 %% in %.0f %%", reps, 100*found)
	if !ok || found < .8 || wrong > 0 {
		t.Errorf("%d runs find 2 %% in %.0f %%, and its opposite in %.1f %%", reps, 100*found, 100*wrong)
	}
}

// The power that docs/statistics.md publishes is what there is: -power writes it, and takes
// some minutes; without, some rounds are held against it.
func TestPowerCurves(t *testing.T) {
	const doc, begin, end = "../../docs/statistics.md", "<!-- power -->\n", "<!-- end of power -->\n"
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(text, []byte(begin))
	table, _, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no %q", doc, begin)
	}
	reps, effects := []int{8, 12, 20}, []float64{.01, .02, .04}
	rounds := long.Rounds(60, 600)
	if *writePower {
		rounds = 1000
	}
	var b strings.Builder
	b.WriteString("| noise |")
	for _, r := range reps {
		for _, e := range effects {
			fmt.Fprintf(&b, " %d runs, %g %% |", r, 100*e)
		}
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(reps)*len(effects)) + "\n")
	lines := strings.Split(string(table), "\n")
	for i, n := range noises {
		fmt.Fprintf(&b, "| %s |", n.name)
		var told []string
		if i+2 < len(lines) {
			told = strings.Split(lines[i+2], " | ")
		}
		for k := range len(reps) * len(effects) {
			if !*writePower && !long.Wanted() && (i+k)%3 > 0 {
				continue // every third is enough where time is short
			}
			found, _ := n.power(t, reps[k/len(effects)], rounds, 1+effects[k%len(effects)])
			fmt.Fprintf(&b, " %.0f |", 100*found)
			if *writePower {
				continue
			}
			var want float64
			if k+1 < len(told) {
				fmt.Sscan(strings.Trim(told[k+1], " |"), &want)
			}
			want /= 100
			// Four standard errors, of this and of what was published, and what rounding hides.
			if far := 4*math.Sqrt(max(want*(1-want), .01)*(1/float64(rounds)+.001)) + .005; math.Abs(found-want) > far {
				t.Errorf("%s, %d runs, %g %%: %.0f %% are found, published are %.0f %%", n.name, reps[k/len(effects)], 100*effects[k%len(effects)], 100*found, 100*want)
			}
		}
		b.WriteString("\n")
	}
	if *writePower {
		text, err := os.ReadFile(doc) // as it is by now
		if err == nil {
			before, rest, _ := bytes.Cut(text, []byte(begin))
			_, after, _ := bytes.Cut(rest, []byte(end))
			err = os.WriteFile(doc, bytes.Join([][]byte{before, []byte(begin), []byte(b.String()), []byte(end), after}, nil), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
