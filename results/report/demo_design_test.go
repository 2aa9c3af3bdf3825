// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
)

// design is the plan of `zcbench demo` or `zcbench decide` on a machine that is made up: starts
// differ by what all cells share, and in a start cells that take turns differ by less.
type design struct {
	question matrix.Question
	starts   int
	all      float64 // by which starts differ, the same for all cells of a start
	// by which the ratio of two cells differs from start to start
	rateSD, costSD float64
	// What uring delivers at full speed, and takes at a pace, relative to tcp; and the p99 of its
	// delivery.
	rate, cost, p99 float64
}

// The spreads that were measured between starts of the demo on a virtual machine with 2 CPUs.
const demoRateSD, demoCostSD, demoAllSD = .039, .035, .10

func demoDesign(starts int, rate, cost float64) design {
	return design{matrix.Question{RX: []string{"tcp", "uring", "tcp-trunc"}, TX: []string{"tcp", "uring", "sendfile"},
		Paces: []int{50}, Flows: []int{1}}, starts, demoAllSD, demoRateSD, demoCostSD, rate, cost, 1.8}
}

// isPaced reports whether a cell of a design has a pace.
func isPaced(c *plan.Cell) bool { return c.PacePercent > 0 }

func (d *design) play(rng *rand.Rand) results.Journal {
	spec := matrix.New()
	spec.Ask(d.question, plan.Cell{Touch: "read", CPULayout: "1cpu"})
	origin := &plan.Origin{Name: "made", Hash: "0", Repetitions: d.starts, Primary: spec.Primary, About: spec.About,
		Baseline: spec.Base}
	j := results.Journal{Header: results.Header{Kind: "zcbench-journal", Schema: results.SchemaVersion, SessionID: "s",
		Plan: origin, Cells: spec.Cells}}
	for start := range d.starts {
		all := [2]float64{d.all * rng.NormFloat64(), d.all * rng.NormFloat64()} // of rates, and of costs
		for _, c := range spec.Cells {
			paced := isPaced(&c)
			own := func(sd float64) float64 { return sd / math.Sqrt2 * rng.NormFloat64() }
			gbps, cost := 30*math.Exp(all[0]+own(d.rateSD)), .25*math.Exp(all[1]+own(d.costSD)) // s/GB
			limit, p99 := plan.ByReceiver, 400*math.Exp(.1*rng.NormFloat64())
			switch {
			case c.RX == "tcp-trunc":
				limit = plan.BySender
			case c.RX == "uring" && paced:
				cost, p99 = cost*d.cost, p99*d.p99
			case c.RX == "uring":
				gbps, cost = gbps*d.rate, cost*d.cost
			}
			if paced {
				c.PaceBitsPS = 130e6 * c.PacePercent
				gbps, limit = float64(c.PaceBitsPS)/1e9*(1+.001*rng.NormFloat64()), plan.ByPace
			}
			r := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprintf("s-%05d", len(j.Records)),
				Seq: len(j.Records), SessionID: "s", Cell: c, Verdict: results.OK, Rep: start, Start: start + 1,
				Block: start, Limit: limit, StartUTCNs: int64(start+1) * 1e10,
				Turns: &results.Turns{TurnNs: 20e6, Turns: 50, Cells: len(spec.Cells)}}
			for _, h := range []*results.Host{&r.SUT, &r.TG} {
				h.Env = measure.Env{Hostname: "made", BootID: "boot"}
				h.ThroughputGbps, h.DurationS, h.Bytes = new(gbps), new(1.0), new(uint64(gbps*1e9/8))
				h.CPUBusyCores = new(cost * gbps / 8)
			}
			if paced {
				r.SUT.Delivery = &results.Delivery{Times: results.Times{Count: 1000, P50Us: new(p99 / 4),
					P99Us: new(p99)},
					ClockUs: new(0.0)}
			}
			j.Records = append(j.Records, r)
		}
	}
	return j
}

// heard is what one short answer said.
type heardOf struct {
	wrong         []string
	rates, prices []float64 // half widths of the intervals that were told
	cost, rate    string    // verdicts
	decided       bool      // the first sentence says more than what is excluded
	late          bool      // a sentence on a price has the p99
	missed        bool      // whose interval misses the truth
}

func (d *design) read(j results.Journal) (x heardOf) {
	sum := Summarize(j)
	for i, f := range sum.Answers {
		if len(f.Cells) != 2 || f.Ratio == nil {
			continue
		}
		truth, price := 1.0, strings.Contains(f.Figure, "ns_per_kb")
		switch {
		case !strings.HasPrefix(f.Cells[0], "uring/"):
		case f.Figure == "delivery_p99_us":
			truth = d.p99
		case price:
			truth = d.cost
		default:
			truth = d.rate
		}
		if strings.HasPrefix(f.Cells[1], "uring/") || strings.Contains(f.Cells[0], "trunc") &&
			!strings.Contains(f.Cells[1], "trunc") {
			panic(fmt.Sprint("not expected: ", f.Cells))
		}
		half := math.NaN()
		if f.Low != nil && f.High != nil {
			half = math.Sqrt(*f.High / *f.Low) - 1
		}
		outside := f.Low != nil && truth < *f.Low*(1-1e-9) || f.High != nil && truth > *f.High*(1+1e-9)
		if f.Figure == "delivery_p99_us" {
			x.late, x.missed = true, x.missed || outside
			continue
		}
		if strings.HasPrefix(f.Cells[0], "uring/") && !math.IsNaN(half) {
			if price {
				x.prices, x.cost = append(x.prices, half), x.cost+string(f.Verdict)
			} else {
				x.rates, x.rate = append(x.rates, half), x.rate+string(f.Verdict)
			}
		}
		x.decided = x.decided || i == 0 && f.Verdict != "open"
		wrong := false
		switch f.Verdict {
		case "faster", "costlier":
			wrong = truth <= 1
		case "slower", "cheaper":
			wrong = truth >= 1
		case "equal":
			wrong = math.Abs(truth-1) >= .05-1e-9
		default:
			wrong = outside
		}
		if wrong {
			x.wrong = append(x.wrong, f.Sentence)
		}
	}
	for _, s := range sum.Answer.Sentences {
		for _, v := range s.StandsOn {
			if v.Verdict == "lower" && d.rate == 1 && d.cost == 1 {
				x.wrong = append(x.wrong, s.Text)
			}
		}
	}
	for i := range sum.Compared.Rows { // what the tables say, and what is not among the sentences
		r := &sum.Compared.Rows[i]
		differs := r.B.RX == "uring" && (isPaced(&r.B) && d.cost != 1 || !isPaced(&r.B) && (d.rate != 1 || d.cost != 1))
		if (r.Verdict.Good() || r.Verdict.Bad()) && !differs {
			x.wrong = append(x.wrong, fmt.Sprintf("%s beside %s: %s %s", r.B.ID, r.A.ID, r.Metric, r.Verdict))
		}
		if b := r.Bounds(); b != nil && r.Metric == "ns_per_kb" && r.B.RX == "uring" && isPaced(&r.B) {
			if d.cost < *b.Lo || d.cost > *b.Hi {
				x.wrong = append(x.wrong, fmt.Sprintf("bounds: [%g..%g]", *b.Lo, *b.Hi))
			}
			if !slices.ContainsFunc(sum.Answers, func(f answer.Finding) bool { return f.Figure == "ns_per_kb" }) {
				x.prices = append(x.prices, math.Sqrt(*b.Hi / *b.Lo)-1)
			}
		}
	}
	return x
}

// The demo's own plan, on a machine whose starts differ by what was measured: at most 5 % of
// answers say what is not so; what is told has bounds that a reader can use; and the first sentence
// has a verdict. Starts that differ by 10 % cost nothing, because pairs are within a start.
func TestDemoDesign(t *testing.T) {
	rounds := long.Rounds(50, 2000)
	for _, x := range []struct {
		design
		costlier, decided float64 // least share
	}{
		{demoDesign(10, 1, 1), 0, 0},
		{demoDesign(8, 1, 1), 0, 0},
		{demoDesign(10, .84, 1.04), 0, .99},
		{demoDesign(8, .84, 1.04), 0, .95},
		{demoDesign(10, 1, 1.10), .9, .9},
		{demoDesign(10, 1.17, .80), 0, .99},
	} {
		rng := rand.New(rand.NewPCG(53, uint64(x.starts)))
		wrong, costlier, decided, late, missed := 0, 0, 0, 0, 0
		var rates, prices []float64
		var what []string
		for range rounds {
			h := x.read(x.play(rng))
			if h.wrong != nil {
				wrong++
				what = append(what, h.wrong[0])
			}
			if strings.Contains(h.cost, "costlier") {
				costlier++
			}
			if h.decided {
				decided++
			}
			if h.late {
				late++
			}
			if h.missed {
				missed++
			}
			rates, prices = append(rates, h.rates...), append(prices, h.prices...)
		}
		name := fmt.Sprintf("%d starts, rate %g, cost %g", x.starts, x.rate, x.cost)
		t.Logf("%s: %d of %d say what is not so, %d are decided, %d call uring costlier, %d tell the p99 (%d "+
			"miss it); half "+
			"widths, median and 9 of 10: of rates %.1f and %.1f %%, of costs %.1f and %.1f %%", name, wrong, rounds,
			decided,
			costlier, late, missed, 100*quantileOf(rates, .5), 100*quantileOf(rates, .9), 100*quantileOf(prices, .5),
			100*quantileOf(prices, .9))
		most := .05 + 3*math.Sqrt(.05*.95/float64(rounds))
		if float64(wrong) > most*float64(rounds) || float64(missed) > most*float64(rounds) {
			t.Errorf("%s: %d of %d say what is not so, such as %q", name, wrong, rounds, what[:min(3, len(what))])
		}
		if x.starts == 10 && (quantileOf(prices, .5) > .06 || quantileOf(rates, .5) > .10) {
			t.Errorf("%s: half widths of %.1f %% of rates and %.1f %% of costs", name, 100*quantileOf(rates, .5),
				100*quantileOf(prices, .5))
		}
		if float64(costlier) < x.costlier*float64(rounds) || float64(decided) < x.decided*float64(rounds) {
			t.Errorf("%s: %d of %d are decided, %d call uring costlier", name, decided, rounds, costlier)
		}
	}
}

// A sentence on a cost at a pace tells the p99 of delivery with its interval, and who is faster is
// named where both were spoken of.
func TestDemoSentences(t *testing.T) {
	const number, interval, p99 = `[0-9.]+`, `\[[0-9.]+\]`, `p99 of delivery`
	for _, x := range []struct {
		rate, cost float64
		want       string
	}{
		{1.17, .80, `^uring takes ` + number + ` % less CPU time than tcp to receive the same 6.5 Gbit/s \(` +
			number + ` ` +
			interval + `\), with a ` + p99 + ` of ` + number + ` times ` + interval + `; at full speed it is ` +
			number +
			` times as fast ` + interval + `\.$`},
		{1.10, 1, `^uring and tcp differ by less than 5 % in the CPU time to receive the same 6.5 Gbit/s; the ` + p99 +
			` of uring is ` + number + ` times ` + interval + ` that of tcp; at full speed uring is ` + number +
			` times as fast as tcp ` + interval + `\.$`},
	} {
		d := demoDesign(10, x.rate, x.cost)
		sum := Summarize(d.play(rand.New(rand.NewPCG(1, 1))))
		if len(sum.Answers) == 0 || !regexp.MustCompile(x.want).MatchString(sum.Answers[0].Sentence) {
			t.Fatalf("the first sentence is %+v", sum.Answers)
		}
		i := slices.IndexFunc(sum.Answers, func(f answer.Finding) bool { return f.Figure == "delivery_p99_us" })
		if i < 0 || sum.Answers[i].Verdict != "open" || sum.Answers[i].Ratio == nil || sum.Answers[i].High == nil ||
			sum.Answers[i].Sentence != sum.Answers[0].Sentence {
			t.Errorf("the p99 is %d of %+v", i, sum.Answers)
		}
	}
	d := demoDesign(10, 1.17, .8)
	j := d.play(rand.New(rand.NewPCG(1, 1)))
	for i := range j.Records {
		j.Records[i].SUT.Delivery = nil
	}
	if sum := Summarize(j); strings.Contains(sum.Answers[0].Sentence, "p99") {
		t.Errorf("of deliveries that were not timed: %q", sum.Answers[0].Sentence)
	}
}

// A receiver that is 3 % dearer is found by a decide of 24 starts: at 25, 50 and 75 %, with one
// flow and with four.
func TestDecideDesign(t *testing.T) {
	rounds := long.Rounds(10, 300)
	d := demoDesign(24, 1, 1.03)
	d.question.Paces, d.question.Flows = []int{25, 50, 75}, []int{1, 4}
	rng := rand.New(rand.NewPCG(53, 24))
	found, wrong := 0, 0
	var prices []float64
	for range rounds {
		x := d.read(d.play(rng))
		if strings.Contains(x.cost, "costlier") {
			found++
		}
		if x.wrong != nil {
			wrong++
		}
		prices = append(prices, x.prices...)
	}
	t.Logf("%d of %d find 3 %%, %d say what is not so; half width of costs %.1f %%", found, rounds, wrong,
		100*quantileOf(prices, .5))
	if float64(found) < .9*float64(rounds) || float64(wrong) > float64(rounds)*.05+
		3*math.Sqrt(.05*.95*float64(rounds)) {
		t.Errorf("%d of %d find 3 %%, %d say what is not so", found, rounds, wrong)
	}
}

// quantileOf returns the value below which a part of v is.
func quantileOf(v []float64, p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return v[int(p*float64(len(v)-1))]
}
