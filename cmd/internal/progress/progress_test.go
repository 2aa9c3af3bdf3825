// SPDX-License-Identifier: MIT

package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A plan that is played again is counted anew.
func TestReplayIsCountedAnew(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	for rep := range 2 {
		p.Plan(2, time.Second)
		for i := range 2 {
			p.Done(results.Record{Cell: plan.Cell{ID: "tcp/tcp"}, Rep: 2*rep + i, Verdict: results.Failed})
		}
		p.End()
	}
	if s := out.String(); strings.Count(s, "[  1/2]") != 2 || strings.Count(s, "[  2/2]") != 2 ||
		strings.Contains(s, "3/2") {
		t.Error(s)
	}
}

// What a run is measured by is what its flow moves: a stream's bits, packets, round trips. A little
// is never rounded to nothing.
func TestFiguresHaveTheirUnit(t *testing.T) {
	udp, rr := plan.Cell{ID: "udp/udp", RX: "udp", TX: "udp"}, plan.Cell{ID: "tcp/rr", RX: "tcp", TX: "rr"}
	for want, change := range map[string]func(*results.Record){
		"150.0 kpps without loss, 9 trials, median 150.0 kpps": func(r *results.Record) {
			r.Cell, r.LossFree = udp, &results.LossFree{PacketsPerS: 150e3, Trials: 9}
		},
		"812.3 kpps, median 812.3": func(r *results.Record) { r.Cell, r.SUT.PacketsPerS = udp, new(812.3e3) },
		"22000 round trips/s, median 22000": func(r *results.Record) {
			r.Cell, r.TG.Transactions, r.TG.DurationS = rr, new(uint64(44000)), new(2.)
		},
		"0.04 Gbit/s, median 0.04":     func(r *results.Record) {},
		"0.0021 Gbit/s, median 0.0021": func(r *results.Record) { r.SUT.ThroughputGbps = new(.0021) },
		"41.2 Gbit/s, median 41.2":     func(r *results.Record) { r.SUT.ThroughputGbps = new(41.23) },
	} {
		var out bytes.Buffer
		p := New(&out)
		p.Plan(2, time.Second)
		cells := &cellRow{}
		for rep := range 2 {
			r := results.Record{Cell: plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"}, Rep: rep, Verdict: results.OK}
			r.SUT.ThroughputGbps = new(0.04)
			change(&r)
			p.Done(r)
			cells.add(&r)
		}
		if s := out.String(); !strings.Contains(s, " "+want+"\n") || strings.Contains(s, " 0.0 ") {
			t.Errorf("want %q:\n%s", want, s)
		}
		unit := strings.TrimSuffix(strings.Fields(want)[1], ",")
		c := &cellProgress{}
		line := ""
		for _, x := range c.cell(cells, map[string]float64{cells.unit: 1e9}) {
			line += x.text
		}
		if !strings.Contains(line, " "+unit) || unit != "Gbit/s" && strings.Contains(line, "Gbit/s") {
			t.Errorf("want %q: %s", unit, line)
		}
	}
}
