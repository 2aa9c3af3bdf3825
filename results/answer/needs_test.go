// SPDX-License-Identifier: MIT

package answer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// How many runs would tell is more than did not, and enough for any verdict.
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
	// Of a difference as large as the runs vary, 24 runs tell 4 of 5 times; what is estimated of 8
	// runs scatters about that.
	var needed []int
	for seed := range uint64(40) {
		wide := func(gbps float64, rx string) plantest.Cell { c := made(rx, "tcp", gbps, 1); c.CV = .05; return c }
		a := report.Summarize(plantest.Journal(seed, 8, wide(20, "tcp"), wide(20*math.Exp(.05), "uring"))).Answer
		i := slices.IndexFunc(a.Sentences, func(s answer.Sentence) bool {
			return s.Kind == answer.Needs &&
				s.Figure == "throughput_gbps"
		})
		if i < 0 {
			continue // it was told
		}
		s := a.Sentences[i]
		if s.RunsNeeded == 0 { // more than anyone makes, as two that look alike take
			wants(t, "needs", s.Text, "not even 500 runs")
			s.RunsNeeded = 501
		} else {
			wants(t, "needs", s.Text, "%, as it appears (runs vary by ", fmt.Sprintf("about %d runs of each would tell",
				s.RunsNeeded))
		}
		if s.RunsNeeded < 10 {
			t.Errorf("%d: %d runs: 8 did not tell", seed, s.RunsNeeded)
		}
		needed = append(needed, s.RunsNeeded)
	}
	slices.Sort(needed)
	if n := len(needed); n < 20 || needed[n/2] < 14 || needed[n/2] > 44 {
		t.Errorf("%d: %v runs", n, needed)
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
		"Runs of 6 boots, in 8 comparisons, could not give a verdict whatever they measured: p is at least 0.25.")
}
