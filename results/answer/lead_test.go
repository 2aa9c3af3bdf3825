// SPDX-License-Identifier: MIT

package answer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
	"github.com/zcbench/zcbench/results/stat"
)

// How much, beside what, and what it holds for.
func TestLeadSays(t *testing.T) {
	a := of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), made("zcrx", "tcp", 61, 1))
	s := sentence(t, a, answer.Leads, "throughput_gbps")
	wants(t, "lead", s.Text, "zcrx/tcp leads with 6", "Gbit/s [", "times the next, uring/tcp [",
		"times the baseline, tcp/tcp [", "(within this boot)")
	if len(s.StandsOn) != 2 || s.StandsOn[0].Verdict != "lower" || s.StandsOn[0].Beside != "zcrx/tcp" ||
		s.StandsOn[0].Adjusted == nil || *s.StandsOn[0].Adjusted >= .05 || a.Baseline != "tcp/tcp" {
		t.Errorf("%+v", s.StandsOn)
	}
	for _, v := range s.StandsOn {
		if v.Ratio == nil || v.Ratio.Hi == nil || *v.Ratio.Hi >= 1 {
			t.Errorf("%+v", v)
		}
	}
	s = sentence(t, of(8, made("tcp", "tcp", 30, 1), made("uring", "tcp", 27, 1)), answer.Leads, "throughput_gbps")
	wants(t, "the baseline leads", s.Text, "tcp/tcp leads", "and is the baseline: 1",
		"% more than the next, uring/tcp [1")
	held := made("uring", "tcp", 30, 1)
	held.Limit = plan.BySender
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), held), answer.Leads, "throughput_gbps")
	wants(t, "held up", s.Text, "uring/tcp was at the sender's limit: at least this much")
}

// What passes payload on, or decrypts it, does more than what drops it: each work has a best of
// its own.
func TestWorkApart(t *testing.T) {
	with := func(c plantest.Cell, then, tls string) plantest.Cell {
		c.Then, c.TLS, c.ID = then, tls, c.RX+"/"+c.TX+" "+then+tls
		return c
	}
	a := of(8, made("tcp", "tcp", 40, 1), made("uring", "tcp", 50, 1), with(made("tcp", "tcp", 20, 1), "forward", ""),
		with(made("tcp", "tcp", 30, 1), "splice", ""), with(made("tcp", "tcp", 10, 1), "", "ktls"),
		with(made("tcp", "tcp", 8, 1), "", "user"))
	var got []string
	for _, s := range a.Sentences {
		if s.Kind == answer.Leads && s.Figure == "throughput_gbps" {
			got = append(got, s.Text[:strings.Index(s.Text, " with")])
		}
	}
	if want := "Throughput, streams: uring/tcp leads; Throughput, streams passed on: tcp/tcp splice leads; " +
		"Throughput, encrypted streams: tcp/tcp ktls leads"; strings.Join(got, "; ") != want {
		t.Errorf("%q, want %q", strings.Join(got, "; "), want)
	}
}

// Modes are not compared by cells with another number of flows.
func TestFlowsApart(t *testing.T) {
	of4 := func(c plantest.Cell) plantest.Cell { c.Flows, c.ID = 4, c.RX+"/"+c.TX+" flows=4"; return c }
	a := of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), of4(made("tcp", "tcp", 80, 4)),
		of4(made("uring", "tcp", 70, 4)))
	var got []string
	for _, s := range a.Sentences {
		if s.Kind == answer.Leads && s.Figure == "throughput_gbps" {
			got = append(got, fmt.Sprintf("%d %s", s.Flows, s.Text[:strings.Index(s.Text, " with")]))
			if len(s.StandsOn) != 1 {
				t.Errorf("%+v", s.StandsOn)
			}
		}
	}
	if want := "1 Throughput, 1 flow: uring/tcp leads; 4 Throughput, 4 flows: tcp/tcp flows=4 leads"; strings.Join(got,
		"; ") != want {
		t.Errorf("%q, want %q", strings.Join(got, "; "), want)
	}
}

// Whatever was measured, sentences stand on verdicts, and no cell leads that the ranks of the
// report do not have first, alone.
func TestLeadersHaveRankOne(t *testing.T) {
	leaders := map[string]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var cells []plantest.Cell
		for i := range 2 + rng.IntN(5) {
			c := made([]string{"tcp", "uring", "zcrx", "devmem", "tcp-mmap", "zcrx-nodev"}[i], "tcp",
				20+3*rng.Float64(), .8+.4*rng.Float64())
			c.CV = .02 * rng.Float64()
			c.Limit = []plan.LimitedBy{"", "", plan.BySender, plan.ByReceiver}[rng.IntN(4)]
			if rng.IntN(8) == 0 {
				c.Gbps, c.Verdict = 0, []results.Verdict{results.Invalid, results.Failed,
					results.Unsupported}[rng.IntN(3)]
			}
			cells = append(cells, c)
		}
		s := report.Summarize(plantest.Journal(seed, 2+rng.IntN(10), cells...))
		bears(t, fmt.Sprint(seed), s.Answer)
		if s.Answer == nil {
			t.Errorf("%d: no answer", seed)
			continue
		}
		for _, x := range s.Answer.Sentences {
			if x.Kind != answer.Leads {
				continue
			}
			leaders[x.Figure]++
			for _, c := range s.ROI.Cells {
				if x.Figure == "roi_cpu_total" && ((c.Cell == x.Cells[0]) != (c.Rank == 1) || c.Rank == 0) {
					t.Errorf("%d: %s leads, and %s has rank %s", seed, x.Cells[0], c.Cell, c.RankText())
				}
			}
			if x.Figure == "throughput_gbps" {
				fastest(t, seed, s, x.Cells[0])
			}
		}
	}
	for _, figure := range []string{"throughput_gbps", "roi_cpu_total"} {
		if leaders[figure] < 5 {
			t.Errorf("only %d leaders by %s to look at", leaders[figure], figure)
		}
	}
}

// fastest holds that all others have a lower median, by enough runs that the sender did not hold
// up.
func fastest(t *testing.T, seed uint64, s *report.Summary, leader string) {
	t.Helper()
	i := slices.IndexFunc(s.Cells, func(c report.Cell) bool { return c.Cell.ID == leader })
	first := s.Cells[i].SUT.ThroughputGbps
	for k := range s.Cells {
		c := &s.Cells[k]
		x := c.SUT.ThroughputGbps
		if k == i || x == nil {
			continue
		}
		if x.Median >= first.Median || x.N < stat.MinRuns || c.HeldBy == plan.BySender {
			t.Errorf("%d: %s leads with %g, and %s has %g of %d runs, held by %q", seed, leader, first.Median,
				c.Cell.ID, x.Median, x.N, c.HeldBy)
		}
	}
}

// Of equal cells none leads in more than 5 % of plans, by any figure.
func TestEqualDoNotLead(t *testing.T) {
	led := map[string]int{}
	const rounds = 200
	for seed := range uint64(rounds) {
		j := plantest.Journal(seed, 8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 20, 1),
			made("zcrx", "tcp", 20, 1))
		for _, s := range report.Summarize(j).Answer.Sentences {
			if s.Kind == answer.Leads {
				led[s.Figure]++
			}
		}
	}
	for figure, n := range led {
		if n > rounds/20+9 { // 5 %, and three standard deviations
			t.Errorf("%s: one of three equal cells led in %d of %d", figure, n, rounds)
		}
	}
}
