// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zcbench/zcbench/results"
)

// scaled is a plan of two modes with 1, 2 and 4 flows, in eight blocks each of which is .97 of
// what the one before was. uring has all its flows on one queue, too.
func scaled() results.Journal {
	var p madeUp
	flow := func(n, queues, rep int, parts ...float64) func(*results.Record) {
		return func(r *results.Record) {
			r.Schema, r.Rep = results.SchemaVersion, rep
			r.Cell.ID += fmt.Sprintf(" flows=%d queues=%d", n, queues)
			r.Cell.Flows, r.Cell.Queues, r.Cell.MTU = n, queues, 0
			for i := range n {
				gbps := *r.SUT.ThroughputGbps * parts[i]
				r.SUT.Flows = append(r.SUT.Flows, results.Flow{ThroughputGbps: &gbps, Bytes: new(uint64(1))})
			}
		}
	}
	for rep := range 8 {
		drift := math.Pow(.97, float64(rep))
		p.add("tcp", "tcp", results.OK, 10*drift, flow(1, 0, rep, 1))
		p.add("tcp", "tcp", results.OK, 18*drift, flow(2, 0, rep, .5, .5))
		p.add("tcp", "tcp", results.OK, 30*drift, flow(4, 0, rep, .1, .2, .3, .4))
		p.add("uring", "tcp", results.OK, 12*drift, flow(1, 1, rep, 1))
		p.add("uring", "tcp", results.OK, 48*drift, flow(4, 4, rep, .25, .25, .25, .25))
		p.add("uring", "tcp", results.OK, 15.6*drift, flow(4, 1, rep, .25, .25, .25, .25))
	}
	return p.j
}

// Each mode's cells stand together, each with its cell of one flow, and scale by blocks: that the
// machine became slower by 3 % from block to block takes nothing from it.
func TestFlowCurves(t *testing.T) {
	all := Summarize(scaled()).Flows
	var got []string
	for _, c := range all {
		for _, x := range c.Cells {
			got = append(got, fmt.Sprintf("%s: %d %s %s", c.Name, x.Flows, x.QueuesText(), x.ScalingText()))
		}
	}
	want := []string{
		"tcp/tcp: 1 - 1", "tcp/tcp: 2 - 0.900 [0.900..0.900]", "tcp/tcp: 4 - 0.750 [0.750..0.750]",
		"uring/tcp (a queue each): 1 1 1", "uring/tcp (a queue each): 4 4 1.000 [1.000..1.000]",
		"uring/tcp (on 1 queue): 1 1 1", "uring/tcp (on 1 queue): 4 1 0.325 [0.325..0.325]",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s", strings.Join(got, "\n"))
	}
	// 30 Gbit/s as 3, 6, 9 and 12: Jain's index is 30² / (4 × 270) = .833; medians of eight blocks.
	x, mid := all[0].Cells[2], (math.Pow(.97, 3)+math.Pow(.97, 4))/2
	for _, f := range []struct{ got, want float64 }{{x.MinGbps.Median, 3 * mid}, {x.MedianGbps.Median, 7.5 * mid},
		{x.MaxGbps.Median, 12 * mid}, {x.Jain.Median, 900.0 / 1080}} {
		if math.Abs(f.got-f.want) > 1e-9 {
			t.Errorf("%g, want %g", f.got, f.want)
		}
	}
	if one := all[0].Cells[0]; one.MinGbps != nil || one.Jain != nil || one.Scaling != nil {
		t.Errorf("one flow has a spread: %+v", one)
	}
}

// Modes that take queues over have one each, whether that was said or not; a paced cell does not
// scale, and one without a cell of one flow has no scaling.
func TestFlowCurvesOfQueues(t *testing.T) {
	var p madeUp
	add := func(flows, queues, pace int, gbps float64) {
		p.add("zcrx", "tcp", results.OK, gbps, func(r *results.Record) {
			r.Schema, r.Rep, r.Cell.MTU = results.SchemaVersion, len(p.j.Records), 0
			r.Cell.Flows, r.Cell.Queues, r.Cell.PaceBitsPS = flows, queues, pace
		})
	}
	add(0, 1, 0, 10) // one flow
	add(4, 0, 0, 30) // a queue each
	add(2, 2, 0, 18)
	add(4, 0, 8e9, 8) // paced
	add(1, 0, 8e9, 8)
	all := Summarize(p.j).Flows
	var got []string
	for _, c := range all {
		for _, x := range c.Cells {
			got = append(got, fmt.Sprintf("%s: %d %s %s", c.Name, x.Flows, x.QueuesText(), x.ScalingText()))
		}
	}
	want := []string{"zcrx/tcp (a queue each): 1 1 1", "zcrx/tcp (a queue each): 2 2 0.900",
		"zcrx/tcp (a queue each): 4 4 0.750",
		"zcrx/tcp pace=8G (a queue each): 1 1 1", "zcrx/tcp pace=8G (a queue each): 4 4 -"}
	for i := range got {
		got[i] = strings.Replace(got[i], " pace=none", "", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	p = madeUp{}
	add(4, 0, 0, 30)
	if all := Summarize(p.j).Flows; len(all) != 1 || len(all[0].Cells) != 1 || all[0].Cells[0].Scaling != nil ||
		all[0].Cells[0].ScalingText() != "-" {
		t.Errorf("%+v", all)
	}
}

// Table and page have them, and both plots; a report of one flow has none of that.
func TestFlowsAreShown(t *testing.T) {
	s := Summarize(scaled())
	text := table(t, s)
	golden(t, "flows.golden", text)
	for i, l := range strings.Split(string(text), "\n") {
		if n := utf8.RuneCountInString(l); n > widestTable {
			t.Errorf("line %d has %d columns", i+1, n)
		}
	}
	figures, err := Figures(s)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"flows": {"tcp/tcp", "(on 1 queue)"},
		"scaling": {"ideal", "stroke-dasharray"}} {
		i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name })
		if i < 0 {
			t.Errorf("no figure %s", name)
			continue
		}
		for _, w := range want {
			if !bytes.Contains(figures[i].SVG, []byte(w)) {
				t.Errorf("figure %s has no %q", name, w)
			}
		}
	}
	if page := htmlPage(t, scaled()); !strings.Contains(page, "<h2>Flows</h2>") ||
		!strings.Contains(page, "0.750 [0.750..0.750]") {
		t.Error("the page lacks them")
	}
	one := scaled()
	one.Records = slices.DeleteFunc(one.Records, func(r results.Record) bool { return r.Cell.Flows > 1 })
	if s := Summarize(one); s.Flows != nil || strings.Contains(string(table(t, s)), "scaling") ||
		strings.Contains(htmlPage(t, one), "<h2>Flows</h2>") {
		t.Error("one flow is shown as several")
	}
}
