// SPDX-License-Identifier: MIT

package matrix_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

var writePower = flag.Bool("power", false, "write the tables of docs/statistics-checks.md anew, which takes minutes")

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
	{name: "even, CV 1 %", of: each(func(rng *rand.Rand, _ float64, _ string) float64 {
		return 1 +
			.01*rng.NormFloat64()
	})},
	{name: "drift of 2 % and a wave, CV .7 %", of: drift},
	{name: "carry-over: 2 % lost after a hot cell, CV .7 %",
		of: each(func(rng *rand.Rand, _ float64, before string) float64 {
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
	{name: "heavy tails: Student's t of 2 degrees of freedom, x .5 %",
		of: each(func(rng *rand.Rand, _ float64, _ string) float64 {
			chi := rng.ExpFloat64() // half of a chi square of 2 degrees of freedom
			return max(.1, 1+.005*rng.NormFloat64()/math.Sqrt(chi))
		})},
	{name: "bimodal: every second run loses 5 %, by chance, CV .5 %",
		of: each(func(rng *rand.Rand, _ float64, _ string) float64 {
			return (1 - .05*float64(rng.IntN(2))) * (1 + .005*rng.NormFloat64())
		})},
	{name: "power: AR(1), .8 from run to run, CV 1 %", of: autocorrelated},
}

// hot is a cell that other cells may suffer from; it is in no comparison.
const hot = "hot"

// compared is how many cells are held against the baseline, one family.
const compared = 4

// play plays a plan in the order that real ones have, on a machine with such noise; the cells that
// are compared are as much faster than the baseline as effects say. It goes the way of real
// records: sets, pairs, families, verdicts.
func (n noise) play(t *testing.T, rng *rand.Rand, reps int, effects [compared]float64) *compare.Result {
	t.Helper()
	cells, effect := []plan.Cell{{ID: "base", RX: "tcp", TX: "tcp"}}, map[string]float64{"base": 1}
	for i := range compared {
		cells = append(cells, plan.Cell{ID: fmt.Sprint("c", i), RX: "tcp", TX: "tcp", MTU: 1500 + i})
		effect[cells[i+1].ID] = effects[i]
	}
	plan := matrix.Interleave(append(cells, plan.Cell{ID: hot, RX: "tcp", TX: "tcp", MTU: 9000}), reps, true,
		rng.Uint64())
	j := results.Journal{Header: results.Header{Cells: cells}}
	factors := n.of(rng, plan)
	for i, p := range plan {
		if p.Warmup || p.Cell.ID == hot {
			continue
		}
		gbps := 100 * factors[i] * effect[p.Cell.ID]
		r := results.Record{Cell: p.Cell, Block: p.Block, Rep: p.Rep, SessionID: "s", Verdict: results.OK,
			Schema: results.SchemaVersion}
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
	return r
}

// experiment is one in which the first of the cells that are compared is different by effect. It
// returns the verdicts.
func (n noise) experiment(t *testing.T, rng *rand.Rand, reps int, effect float64) []compare.Verdict {
	t.Helper()
	r := n.play(t, rng, reps, [compared]float64{effect, 1, 1, 1})
	out := make([]compare.Verdict, compared)
	for i := range r.Rows {
		out[i] = r.Rows[i].Verdict
	}
	return out
}

// mostWrong is how many of so many experiments may say something wrong: 5 %, and two standard
// errors more, as so many rounds tell it.
func mostWrong(rounds int) int {
	return int(float64(rounds) * (.05 + 2*math.Sqrt(.05*.95/float64(rounds))))
}

// Whatever the noise: of experiments in which all cells are equal at most 5 % call any of them
// different; and of those in which all are 2 % faster or slower than the baseline at most 5 % call
// any of them equal within 2 %. docs/statistics-checks.md publishes how many (-power writes it).
func TestFalseVerdicts(t *testing.T) {
	long.Garbage(t)
	rounds, told := long.Rounds(200, 4000), published(t, "false verdicts")
	if *writePower {
		rounds = 4000
	}
	var b strings.Builder
	b.WriteString("| noise | different, 6 runs | different, 8 runs | different, 12 runs | equal, 12 runs " +
		"|\n|---|---|---|---|---|\n")
	for _, n := range noises {
		fmt.Fprintf(&b, "| %s |", n.name)
		for i, x := range []struct {
			reps  int
			equal bool
		}{{6, false}, {8, false}, {12, false}, {12, true}} {
			wrong := n.different(t, x.reps, rounds)
			what := "call equal cells different"
			if x.equal {
				wrong, what = n.equal(t, x.reps, rounds), "call cells equal that are 2 % apart"
			}
			t.Logf("%s, %d runs: %d of %d experiments %s", n.name, x.reps, wrong, rounds, what)
			if wrong > mostWrong(rounds) {
				t.Errorf("%s, %d runs: %d of %d experiments %s", n.name, x.reps, wrong, rounds, what)
			}
			share := float64(wrong) / float64(rounds)
			fmt.Fprintf(&b, " %.1f |", 100*share)
			if *writePower {
				continue
			}
			if row := told[n.name]; len(row) != 4 {
				t.Errorf("%s: published are %v", n.name, row)
			} else if far := apart(row[i]/100, 1./4000, rounds) + .0005; math.Abs(share-row[i]/100) > far {
				t.Errorf("%s, %d runs: %.1f %% %s, published are %.1f %%", n.name, x.reps, 100*share, what, row[i])
			}
		}
		b.WriteString("\n")
	}
	if *writePower {
		publish(t, "false verdicts", b.String())
	}
}

// different is how many experiments with equal cells call any of them different.
func (n noise) different(t *testing.T, reps, rounds int) (wrong int) {
	rng := rand.New(rand.NewPCG(18, uint64(reps)))
	for range rounds {
		if slices.ContainsFunc(n.experiment(t, rng, reps, 1),
			func(v compare.Verdict) bool { return v != compare.Unsure }) {
			wrong++
		}
	}
	return wrong
}

// equal is how many experiments with cells that are 2 % from the baseline call any of them equal
// within that.
func (n noise) equal(t *testing.T, reps, rounds int) (wrong int) {
	rng := rand.New(rand.NewPCG(21, uint64(reps)))
	for range rounds {
		r := n.play(t, rng, reps, [compared]float64{1.02, .98, 1.02, .98})
		r.Within(.02)
		if slices.ContainsFunc(r.Rows, func(row compare.Row) bool { return row.Equal.Holds() }) {
			wrong++
		}
	}
	return wrong
}

// apart is how far two shares may be from each other that are of so many rounds each: four
// standard errors of both.
func apart(share, perRound float64, rounds int) float64 {
	return 4 * math.Sqrt(max(share*(1-share), .01)*(1/float64(rounds)+perRound))
}

const statistics = "../../docs/statistics-checks.md"

// cutTable cuts docs/statistics-checks.md at a table that tests write.
func cutTable(t *testing.T, name string) (before, table, after []byte) {
	t.Helper()
	text, err := os.ReadFile(statistics)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(text, []byte("<!-- "+name+" -->\n"))
	table, after, ok2 := bytes.Cut(rest, []byte("<!-- end of "+name+" -->\n"))
	if !ok || !ok2 {
		t.Fatalf("%s has no table of %s", statistics, name)
	}
	return before, table, after
}

// published are the figures of a table by the first field of their row.
func published(t *testing.T, name string) map[string][]float64 {
	t.Helper()
	_, table, _ := cutTable(t, name)
	out := map[string][]float64{}
	for line := range strings.Lines(string(table)) {
		fields := strings.Split(strings.Trim(line, "| \n"), " | ")
		for _, f := range fields[1:] {
			v, err := strconv.ParseFloat(f, 64)
			if err != nil {
				break // of the head
			}
			out[fields[0]] = append(out[fields[0]], v)
		}
	}
	return out
}

// publish writes a table anew.
func publish(t *testing.T, name, table string) {
	t.Helper()
	before, _, after := cutTable(t, name)
	text := slices.Concat(before, []byte("<!-- "+name+" -->\n"+table+"<!-- end of "+name+" -->\n"), after)
	if err := os.WriteFile(statistics, text, 0o644); err != nil {
		t.Fatal(err)
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
	long.Garbage(t)
	reps, ok := stat.RunsFor(compared, 2)
	rounds := long.Rounds(200, 4000)
	found, wrong := noises[0].power(t, reps, rounds, 1.02)
	t.Logf("%d runs find 2 %% in %.0f %%", reps, 100*found)
	if !ok || found < .8 || wrong > 0 {
		t.Errorf("%d runs find 2 %% in %.0f %%, and its opposite in %.1f %%", reps, 100*found, 100*wrong)
	}
}

// The power that docs/statistics-checks.md publishes is what there is: -power writes it, and takes
// some minutes; without, some rounds are held against it.
func TestPowerCurves(t *testing.T) {
	long.Garbage(t)
	reps, effects := []int{8, 12, 20}, []float64{.01, .02, .04}
	rounds, told := long.Rounds(60, 600), published(t, "power")
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
	for i, n := range noises {
		fmt.Fprintf(&b, "| %s |", n.name)
		row := told[n.name]
		if !*writePower && len(row) != len(reps)*len(effects) {
			t.Errorf("%s: published are %v", n.name, row)
			continue
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
			// And what rounding hides.
			if want := row[k] / 100; math.Abs(found-want) > apart(want, 1./1000, rounds)+.005 {
				t.Errorf("%s, %d runs, %g %%: %.0f %% are found, published are %.0f %%", n.name, reps[k/len(effects)],
					100*effects[k%len(effects)], 100*found, 100*want)
			}
		}
		b.WriteString("\n")
	}
	if *writePower {
		publish(t, "power", b.String())
	}
}
