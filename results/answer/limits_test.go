// SPDX-License-Identifier: MIT

package answer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// Of runs that the sender held up, no sentence says that a receiver is faster, slower or as fast.
func TestNothingOfHeldReceivers(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var cells []plantest.Cell
		for _, rx := range []string{"tcp", "uring", "zcrx"} {
			c := made(rx, "tcp", 10+20*rng.Float64(), .5+rng.Float64())
			c.Limit = plan.BySender
			cells = append(cells, c)
		}
		a := of(8, cells...)
		for _, s := range a.Sentences {
			switch s.Kind {
			case answer.Leads, answer.Ahead, answer.Better, answer.Worse, answer.Equal:
				if s.Figure != "ns_per_kb" {
					t.Errorf("%d: %s: %s", seed, s.Kind, s.Text)
				}
			}
		}
		s := sentence(t, a, answer.Limited, "")
		wants(t, "limit", s.Text, "throughput says nothing about the receiver")
		if len(s.Cells) != 3 || s.StandsOn[0].Verdict != "at the sender's limit" {
			t.Errorf("%+v", s)
		}
	}
}

// What limits runs that are neither end's to be faster is said, with what it means and what to do.
func TestLimitsOfNeitherEnd(t *testing.T) {
	for l, want := range map[plan.LimitedBy][]string{
		plan.ByOneCPU: {"At the limit of one CPU for both ends: tcp/tcp and uring/tcp. How fast they could " +
			"receive was " +
			"not measured", "A CPU without time left worked for both ends", "--layout 1cpu"},
		plan.ByPath: {"At the path's limit: tcp/tcp and uring/tcp. How fast they could receive was not measured",
			"TCP always had data to send, and both ends had time left", "--congestion"},
	} {
		held := func(rx string, gbps float64) plantest.Cell {
			c := made(rx, "tcp", gbps, 1)
			c.Limit = l
			return c
		}
		a := of(8, held("tcp", 20), held("uring", 30))
		for _, s := range a.Sentences {
			switch s.Kind {
			case answer.Leads, answer.Ahead, answer.Better, answer.Worse, answer.Equal:
				t.Errorf("%s: %s", s.Kind, s.Text)
			}
		}
		s := sentence(t, a, answer.Limited, "")
		wants(t, string(l), s.Text, want...)
		if s.StandsOn[0].Verdict != l.At() {
			t.Errorf("%+v", s)
		}
	}
}

// counted gives cells, by their names, packets per second and round trips per second.
func counted(j results.Journal, packets, trips map[string]float64) results.Journal {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range j.Records {
		r := &j.Records[i]
		vary := 1 + .005*rng.NormFloat64()
		if n := packets[r.Cell.ID]; n > 0 {
			r.SUT.PacketsPerS, r.TG.PacketsPerS = new(n*vary), new(n*vary)
		}
		if n := trips[r.Cell.ID]; n > 0 {
			r.SUT.Transactions, r.TG.Transactions = new(uint64(n*vary)), new(uint64(n*vary))
			r.TG.RoundTrip = &results.Times{P50Us: new(1e6 / n / vary)}
		}
	}
	return j
}

// No step of a ladder leads, nor is one faster than another.
func TestFramesAreNoRivals(t *testing.T) {
	frame := func(rx string, gbps float64) plantest.Cell { return made(rx, "pktgen-xdp", gbps, 1) }
	a := report.Summarize(counted(plantest.Journal(1, 8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1),
		frame("xdp-drop", 90), frame("xdp-tx", 80)),
		map[string]float64{"xdp-drop/pktgen-xdp": 9e6, "xdp-tx/pktgen-xdp": 8e6}, nil)).Answer
	bears(t, "frames", a)
	sentence(t, a, answer.Leads, "throughput_gbps")
	for _, s := range a.Sentences {
		if s.Kind != answer.NoFigure && strings.Contains(fmt.Sprint(s.Text, s.Cells, s.StandsOn), "xdp-") {
			t.Errorf("%s: %s", s.Kind, s.Text)
		}
	}
	alone := report.Summarize(counted(plantest.Journal(1, 8, frame("xdp-drop", 90), frame("xdp-tx", 80)),
		map[string]float64{"xdp-drop/pktgen-xdp": 9e6, "xdp-tx/pktgen-xdp": 8e6}, nil)).Answer
	if got := said(alone); got != nil {
		t.Errorf("of frames alone: %q", got)
	}
}

// Datagrams are ranked by their packets, among those of one size.
func TestDatagramsByPackets(t *testing.T) {
	datagrams := func(rx string, gbps float64, bytes int) plantest.Cell {
		c := made(rx, "udp", gbps, 1)
		c.MessageBytes, c.ID = bytes, fmt.Sprint(rx, " ", bytes)
		return c
	}
	// By their bytes, those of 1400 are far ahead, and of 64 the slow one is.
	a := report.Summarize(counted(plantest.Journal(1, 8, datagrams("udp", .5, 64), datagrams("udp-gro", .4, 64),
		datagrams("udp", 9, 1400), datagrams("udp-gro", 8, 1400)),
		map[string]float64{"udp 64": 1e6, "udp-gro 64": 1.2e6, "udp 1400": .8e6, "udp-gro 1400": .7e6}, nil)).Answer
	want := []string{"leads packets_per_s udp-gro 64", "leads packets_per_s udp 1400"}
	if diff := cmp.Diff(want, said(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wants(t, "datagrams", a.Sentences[0].Text, "Packet rate, datagrams of 64 bytes: udp-gro 64 leads with ",
		"more than the next and baseline, udp 64 [")
	if strings.Contains(a.Sentences[0].Text, "1400") || len(a.Sentences[0].StandsOn) != 1 {
		t.Error(a.Sentences[0])
	}
}

// Round trips are ranked by how many there are, among those of one size, and never by bytes, nor
// those of a rate, nor beside streams.
func TestTripsAmongThemselves(t *testing.T) {
	trips := func(rx string, gbps float64, request, rate int) plantest.Cell {
		c := made(rx, "rr", gbps, 1)
		c.Request, c.RRRate, c.ID = request, rate, fmt.Sprint(rx, "-rr ", request, " ", rate)
		return c
	}
	a := report.Summarize(counted(plantest.Journal(1, 8, made("tcp", "tcp", 20, 1), trips("tcp", .02, 64, 0),
		trips("uring", .01, 64, 0), trips("tcp", .2, 1000, 0), trips("uring", .01, 64, 100)),
		nil, map[string]float64{"tcp-rr 64 0": 20000, "uring-rr 64 0": 30000, "tcp-rr 1000 0": 90000,
			"uring-rr 64 100": 100})).Answer
	if diff := cmp.Diff([]string{"leads transactions_per_s uring-rr 64 0"}, said(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wants(t, "trips", a.Sentences[0].Text,
		"Round trips per second, 64-byte requests, 1-byte answers, 1 in flight: uring-rr 64 0 leads with 3",
		"more than the next, tcp-rr 64 0 [")
}
