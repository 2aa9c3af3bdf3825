// SPDX-License-Identifier: MIT

package answer_test

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// Who reads that a cell is the highest finds no higher figure in the table of which nothing is
// said.
func TestOutdone(t *testing.T) {
	packets := func(c plantest.Cell, rate float64) plantest.Cell { c.Gbps, c.MessageBytes = rate, 64; return c }
	j := plantest.Journal(7, 8, packets(made("udp", "udp", 1, 1), 1), packets(made("udp-gro", "udp", 1, 1), 2),
		packets(made("xdp-drop", "pktgen-xdp", 1, 1), 3))
	for i := range j.Records {
		r := &j.Records[i]
		r.SUT.PacketsPerS = new(*r.SUT.ThroughputGbps * 1e6)
	}
	a := report.Summarize(j).Answer
	s := sentence(t, a, answer.Leads, "packets_per_s")
	wants(t, "frames", s.Text, "udp-gro/udp leads with ", " Higher, but not ranked: xdp-drop/pktgen-xdp (",
		"; frames, which no application receives).")

	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), made("tcp-trunc", "tcp", 60, 1)),
		answer.Leads, "throughput_gbps")
	wants(t, "discarded", s.Text, "uring/tcp leads", " Higher, but not ranked: tcp-trunc/tcp (",
		"; its application never gets the payload).")

	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), made("tcp-trunc", "tcp", 10, 1)),
		answer.Leads, "throughput_gbps")
	if strings.Contains(s.Text, "not ranked: tcp") {
		t.Errorf("a lower one: %q", s.Text)
	}
}

// Who measures one rung of a ladder, or a control, alone has its figure for an answer, in the unit
// of the table.
func TestAloneAndNotRanked(t *testing.T) {
	frames := made("xdp-drop", "pktgen-xdp", 1, 1)
	frames.MessageBytes = 64
	j := plantest.Journal(7, 1, frames)
	for i := range j.Records {
		j.Records[i].SUT.PacketsPerS = new(2173.8e3)
		j.Records[i].Limit = plan.BySender
	}
	s := sentence(t, report.Summarize(j).Answer, answer.Alone, "packets_per_s")
	wants(t, "frames", s.Text, "Packet rate: 2174 kpps (1 run) by xdp-drop/pktgen-xdp, which is not ranked: frames, "+
		"which no application receives",
		"; it was at the sender's limit.")
	if s.Section != answer.Shown || len(s.StandsOn) != 1 {
		t.Errorf("%+v", s)
	}
	s = sentence(t, of(1, made("tcp-trunc", "tcp", 60, 1)), answer.Alone, "throughput_gbps")
	wants(t, "discarded", s.Text,
		"Gbit/s (1 run) by tcp-trunc/tcp, which is not ranked: its application never gets the payload")
}

// Power that was asked for and has no figure has a cause, which is not that nobody asked.
func TestWattsThatAreMissing(t *testing.T) {
	answered := func(change func(*results.Record)) answer.Sentence {
		j := plantest.Journal(7, 6, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1))
		for i := range j.Records {
			change(&j.Records[i])
		}
		return sentence(t, report.Summarize(j).Answer, answer.NoFigure, "roi_power_total")
	}
	s := answered(func(*results.Record) {})
	wants(t, "nobody asked", s.Text, "power was not measured", "--power records it")

	short := func(r *results.Record) {
		r.Flags = append(r.Flags, "power-missing")
		for _, h := range []*results.Host{&r.SUT, &r.TG} {
			h.PowerSource, h.PowerScope = "command=meter", "board"
		}
		r.Warnings = append(r.Warnings, "SUT: power source command=meter: 1 reading in 998ms",
			"TG: power source command=meter: 1 reading in 1.002s")
	}
	s = answered(short)
	wants(t, "a short window", s.Text, "Per watt: power was asked for, and no run has a figure. Source "+
		"command=meter: too few readings in the window (12 of 12 runs).",
		"measure longer (--duration), or give the window a guard (--power-guard)")
	if strings.Contains(s.Text, "--power records it") || s.Command != "" {
		t.Errorf("%+v", s)
	}

	s = answered(func(r *results.Record) {
		r.SUT.PowerSource = "ipmi"
		why := "it did not answer for 2.001s: DCMI: node busy"
		if r.Rep%2 == 0 {
			why = "no reading in 998ms: the BMC is gone"
		}
		r.Warnings = append(r.Warnings, "SUT: power source ipmi: "+why)
	})
	wants(t, "it failed", s.Text, "Source ipmi: ", "it did not answer for 2.001s: DCMI: node busy (6 of 12 runs)",
		"too few readings in the window: the BMC is gone (6 of 12 runs)")

	s = answered(func(r *results.Record) { r.SUT.PowerSource = "rapl" })
	wants(t, "nothing is said", s.Text, "Source rapl; the notes of the runs say why.")
}
