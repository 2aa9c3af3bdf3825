// SPDX-License-Identifier: MIT

package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results"
)

// A plan that is played again is counted anew.
func TestReplayIsCountedAnew(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	for rep := range 2 {
		p.Plan(2, time.Second)
		for i := range 2 {
			p.Done(results.Record{Cell: results.Cell{ID: "tcp/tcp"}, Rep: 2*rep + i, Verdict: results.Failed})
		}
		p.End()
	}
	if s := out.String(); strings.Count(s, "[  1/2]") != 2 || strings.Count(s, "[  2/2]") != 2 || strings.Contains(s, "3/2") {
		t.Error(s)
	}
}

// The median is of throughput, also beside a figure of packets, and then says so.
func TestMedianHasItsUnit(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	p.Plan(2, time.Second)
	for rep := range 2 {
		r := results.Record{Cell: results.Cell{ID: "udp/udp"}, Rep: rep, Verdict: results.OK, LossFree: &results.LossFree{PacketsPerS: 150e3, Trials: 9}}
		r.SUT.ThroughputGbps = new(0.1)
		p.Done(r)
	}
	if s := out.String(); !strings.Contains(s, "150.0 kpps without loss, 9 trials, median 0.1 Gbit/s") {
		t.Error(s)
	}
}
