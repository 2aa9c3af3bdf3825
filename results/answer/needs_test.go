// SPDX-License-Identifier: MIT

package answer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
	"github.com/zcbench/zcbench/results/stat"
)

// Of too few runs it is said how many any verdict takes.
func TestRunsNeeded(t *testing.T) {
	s := sentence(t, of(3, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)), answer.Few, "throughput_gbps")
	wants(t, "few", s.Text, "3 runs of each are too few: telling 2 cells apart takes at least 6 of each.")
	if s.RunsNeeded != 6 {
		t.Errorf("%d runs", s.RunsNeeded)
	}
	var many []plantest.Cell
	for i := range 12 {
		c := made("tcp", "tcp", 20+float64(i), 1)
		c.MTU = 1500 + i
		c.ID = fmt.Sprint("c", i)
		many = append(many, c)
	}
	s = sentence(t, of(6, many...), answer.Few, "throughput_gbps")
	wants(t, "many", s.Text, "6 runs of each are too few: telling 12 cells apart takes at least 8 of each")
}

// A plan made by the advice finds a true difference of 5 % in at least 80 %, and what is said to be
// excluded is there in at most 5 % of experiments: of pilots of 8 runs, by the words of reports.
func TestAdviceFinds(t *testing.T) {
	const pilot, effect = 8, .05
	rounds := long.Rounds(40, 400)
	says := func(a *answer.Answer, k answer.Kind) *answer.Sentence {
		i := slices.IndexFunc(a.Sentences, func(s answer.Sentence) bool {
			return s.Kind == k && s.Figure == "throughput_gbps"
		})
		if i < 0 {
			return nil
		}
		return &a.Sentences[i]
	}
	found, wrong, asked, open := 0, 0, 0, 0
	for _, cv := range []float64{.02, .03, .04, .06} {
		for round := range rounds {
			two := func(seed uint64, runs int) *answer.Answer {
				a, b := made("tcp", "tcp", 20, 1), made("uring", "tcp", 20*(1+effect), 1)
				a.CV, b.CV = cv, cv
				return report.Summarize(plantest.Journal(seed, runs, a, b)).Answer
			}
			seed := uint64(1000*round) + uint64(1000*cv)
			s := says(two(seed, pilot), answer.Needs)
			if s == nil {
				continue // it was told
			}
			open++
			var above float64
			_, text, _ := strings.Cut(s.Text, "differences above ")
			if _, err := fmt.Sscanf(text, "%g %% are excluded", &above); err != nil {
				t.Fatal(s.Text)
			}
			if above < 100*effect-.05 { // as it is rounded
				wrong++
			}
			if s.RunsNeeded == 0 {
				if above > 100*effect {
					t.Errorf("CV %g: %s", cv, s.Text)
				}
				continue
			}
			wants(t, "needs", s.Text, fmt.Sprintf("finds one of 5 %% in 8 of 10 cases takes about %d runs of each",
				s.RunsNeeded))
			asked++
			if says(two(seed+1, s.RunsNeeded), answer.Leads) != nil {
				found++
			}
		}
		t.Logf("up to CV %g %%: %d of %d pilots without a verdict say that it is excluded; %d of %d plans find it",
			100*cv, wrong, open, found, asked)
	}
	if float64(found) < (stat.Power-2*math.Sqrt(.16/float64(asked)))*float64(asked) {
		t.Errorf("%d of %d plans find it", found, asked)
	}
	if all := float64(4 * rounds); float64(wrong) > .05*all+2*math.Sqrt(.0475*all) {
		t.Errorf("%d of %g pilots exclude what is there", wrong, all)
	}
}

// How long it takes follows from when the runs on record began; what matters is what was asked for.
func TestAdviceLasts(t *testing.T) {
	a, b := made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.1, 1)
	a.CV, b.CV = .04, .04
	j := plantest.Journal(4, 8, a, b)
	for i := range j.Records {
		j.Records[i].StartUTCNs = j.Header.CreatedUTCNs + int64(i)*int64(90*time.Second)
	}
	set := compare.NewSet("s", j)
	of := func(margin float64) answer.Sentence {
		m, _ := compare.Lookup([]string{"throughput_gbps"})
		r, err := compare.Within(&set, a.Cell, m)
		if err != nil {
			t.Fatal(err)
		}
		if margin > 0 {
			r.Within(margin)
		}
		long, _ := answer.OfComparison(r, &set)
		return sentence(t, long, answer.Needs, "throughput_gbps")
	}
	s := of(0)
	wants(t, "5 %", s.Text, "one of 5 %", fmt.Sprintf("about %d runs of each (%.0f min for these 2 cells)",
		s.RunsNeeded,
		float64(2*s.RunsNeeded)*1.5))
	larger := of(.06)
	wants(t, "6 %", larger.Text, "one of 6 %")
	if larger.RunsNeeded >= s.RunsNeeded {
		t.Errorf("%d runs for 6 %%, %d for 5 %%", larger.RunsNeeded, s.RunsNeeded)
	}
	if s := of(.1); s.RunsNeeded != 0 || s.Command != "" || !strings.HasSuffix(s.Text, "% are excluded.") {
		t.Errorf("%d runs: %s", s.RunsNeeded, s.Text)
	}
	if s = of(.001); s.RunsNeeded != 0 || s.Command == "" {
		t.Errorf("%d runs: %s", s.RunsNeeded, s.Text)
	}
}

// Where boots are what is compared, no number of runs is said to tell.
func TestRunsOfBoots(t *testing.T) {
	for name, bootOf := range map[string]func(r *results.Record) string{
		"both in each": func(r *results.Record) string { return fmt.Sprint(r.Rep / 2) },
		"own":          func(r *results.Record) string { return r.Cell.ID + fmt.Sprint(r.Rep/2) },
		"own, few":     func(r *results.Record) string { return r.Cell.ID },
		"declared":     func(r *results.Record) string { return r.Cell.ID },
	} {
		j := plantest.Journal(3, 16, made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.02, 1))
		for i := range j.Records {
			r := &j.Records[i]
			r.SUT.Env.BootID, r.TG.Env.BootID = bootOf(r), bootOf(r)
		}
		if name == "declared" {
			j.Header.Plan.BetweenBoots = .01
		}
		a := report.Summarize(j).Answer
		bears(t, name, a)
		for _, s := range a.Sentences {
			if s.RunsNeeded != 0 || s.Kind == answer.Needs || strings.Contains(s.Text, "runs of each") {
				t.Errorf("%s: %s", name, s.Text)
			}
		}
		if _, few := map[string]bool{"own, few": true}[name]; few {
			wants(t, name, sentence(t, a, answer.Few, "throughput_gbps").Text,
				"1 boot and 1 boot: a verdict needs 6 of each")
		}
	}
}

// Whoever stands between the first and the next that has a place is no next; and who is in no
// ranking is named.
func TestNext(t *testing.T) {
	held := made("zcrx", "tcp", 28, 1)
	held.Limit = plan.BySender
	s := sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), held), answer.Ahead,
		"throughput_gbps")
	wants(t, "between", s.Text, "more than the next ranked cell and baseline, tcp/tcp [",
		"zcrx/tcp (at the sender's limit)")
	one := made("zcrx", "tcp", 40, 1)
	one.Most = 1
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), one), answer.Ahead, "throughput_gbps")
	wants(t, "one run", s.Text, "uring/tcp is ahead of 1 cell",
		"Left out, because a verdict takes 6 runs: zcrx/tcp (1 run).")
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), one), answer.Alone, "throughput_gbps")
	wants(t, "one alone", s.Text,
		"by tcp/tcp. There is nothing to compare it with: a verdict takes 6 runs. Too few: zcrx/tcp (1 run).")
	paced, trunc, control := made("uring", "tcp", 10, 1), made("tcp-trunc", "tcp", 40, 1), made("zcrx", "tcp", 5, 1)
	paced.PaceBitsPS, control.Control = 10e9, plan.WrongQueue
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), paced, trunc, control), answer.Alone, "throughput_gbps")
	wants(t, "alone", s.Text, "No other cell can be ranked against it: uring/tcp (paced), tcp-trunc/tcp (its "+
		"application never gets the payload) and zcrx/tcp (a control).")
	of4 := made("tcp", "tcp", 70, 4)
	of4.Flows, of4.ID = 4, "of4"
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), one, of4), answer.Alone, "throughput_gbps")
	wants(t, "one alone of two groups", s.Text, "Throughput, 1 flow: ",
		"a verdict takes 6 runs. Too few: zcrx/tcp (1 run).")
	two := made("uring", "tcp", 30, 1)
	two.Most = 2
	four := made("tcp", "tcp", 20, 1)
	four.Most = 4
	s = sentence(t, of(8, four, two), answer.Few, "throughput_gbps")
	wants(t, "who lacks runs", s.Text,
		"uring/tcp (2 runs) and tcp/tcp (4 runs) have too few: telling 2 cells apart takes at least 6 of each")
}

// More comparisons than so few boots can tell have their reason, and not the runs, which are many.
func TestFewBoots(t *testing.T) {
	var cells []plantest.Cell
	for i := range 9 {
		c := made("tcp", "tcp", 20+float64(i), 1)
		c.MTU, c.ID = 1500+i, fmt.Sprint("c", i)
		cells = append(cells, c)
	}
	j := plantest.Journal(1, 24, cells...)
	for i := range j.Records {
		r := &j.Records[i]
		r.SUT.Env.BootID = fmt.Sprint(r.Rep / 4)
		r.TG.Env.BootID = r.SUT.Env.BootID
	}
	s := sentence(t, report.Summarize(j).Answer, answer.Few, "throughput_gbps")
	wants(t, "boots", s.Text,
		"Runs of 6 boots, in 8 comparisons, could not give a verdict whatever they measured: p is at least 0.14.")
}
