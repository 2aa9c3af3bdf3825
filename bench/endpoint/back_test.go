// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What is wrong with the other way is wrong with the run, and is told as that; where both ends were
// called off, the way that failed is told.
func TestOtherWayIsJudged(t *testing.T) {
	e := newEnd(several(wire.EndSpec{Role: stream.RX}, 1), stream.Mode{}, stream.Options{})
	way := func(v results.Verdict, why string, peer bool) wire.EndResult {
		return wire.EndResult{Verdict: v, Reason: why, BlamesPeer: peer,
			Host: results.Host{Bytes: new(uint64(8)), ThroughputGbps: new(2.), Mismatches: new(uint64(1))}}
	}
	for _, x := range []struct {
		first, back wire.EndResult
		verdict     results.Verdict
		reason      string
	}{
		{way(results.OK, "", false), way(results.OK, "", false), results.OK, ""},
		{way(results.OK, "", false), way(results.Invalid, "1 payload bytes are wrong", false), results.Invalid,
			"the other way, from the SUT to the TG: 1 payload bytes"},
		{way(results.Failed, "the run was aborted", true), way(results.Failed, "reset", false), results.Failed,
			"the other way, from the SUT to the TG: reset"},
		{way(results.Invalid, "copied", false), way(results.Failed, "reset", false), results.Invalid, "copied"},
	} {
		got := e.withBack(x.first, x.back)
		if got.Verdict != x.verdict || !strings.HasPrefix(got.Reason, x.reason) || got.Host.Back == nil ||
			got.Host.Back.ThroughputGbps != 2 || *got.Host.Back.Mismatches != 1 {
			t.Errorf("%s %q, %+v, want %s %q", got.Verdict, got.Reason, got.Host.Back, x.verdict, x.reason)
		}
	}
}

// The other way has the modes, CPUs and control of the first, no probe of its own, and does not go
// back again.
func TestBackSpec(t *testing.T) {
	s := wire.EndSpec{Role: stream.RX, Addr: "127.0.0.1:5201", Dev: "eth0", MeasureCPUs: []int{1},
		Flows: []wire.FlowSpec{{CPU: 3, Queue: new(2)}},
		Cell: plan.Cell{RX: "tcp", TX: "sendfile", Both: new(true), Probe: "latency", Control: plan.WrongQueue,
			CPULayout: "2cpu", Touch: "verify"}}
	b, err := backSpec(s, "")
	if err != nil || b.Role != stream.TX || b.Mode() != "sendfile" || b.Cell.Both != nil || b.Cell.Probe != "" ||
		b.Cell.Control != plan.WrongQueue || b.Cell.CPULayout != "" || b.Cell.Touch != "verify" || len(b.Flows) != 1 ||
		b.Flows[0].CPU != 3 || b.Flows[0].Queue != nil || b.Dev != "eth0" || Check(b) != nil && b.Flows[0].CPU < 0 {
		t.Errorf("%+v, %v", b, err)
	}
	s.Role = stream.TX
	if b, err = backSpec(s, ""); err != nil || b.Role != stream.RX || b.Mode() != "tcp" || b.Addr != "127.0.0.1:0" {
		t.Errorf("%+v, %v", b, err)
	}
	s = wire.EndSpec{Role: stream.TX, Addr: "127.0.0.1:5201", Cell: plan.Cell{TX: "sendfile"}}
	if b, err = backSpec(s, ""); err != nil || b.Mode() != "tcp" {
		t.Errorf("a sender on its own: %+v, %v", b, err)
	}
}

// One end that goes both ways and one that does not are told so.
func TestOneEndGoesBothWays(t *testing.T) {
	e := newEnd(several(wire.EndSpec{Role: stream.RX}, 1), stream.Mode{}, stream.Options{})
	if err := e.meetBack(arrival{hello: stream.Hello{Back: 4711}}); err == nil ||
		!strings.Contains(err.Error(), "--both") {
		t.Errorf("%v", err)
	}
	e.back = newEnd(several(wire.EndSpec{Role: stream.TX}, 1), stream.Mode{}, stream.Options{})
	if err := e.meetBack(arrival{}); err == nil || !strings.Contains(err.Error(), "--both") {
		t.Errorf("%v", err)
	}
}

// Where the ends do not agree on what becomes of the payload, each is named by what was asked of
// it.
func TestEndsThatDisagreeAreNamed(t *testing.T) {
	for _, x := range []struct {
		then string
		port uint16
		want []string
	}{
		{plan.ThenForward, 0, []string{"started with --then forward, and the sender was not"}},
		{plan.ThenWrite("/tmp"), 4711, []string{"started with --then write:/tmp, and", "--then forward or splice"}},
		{plan.ThenWrite("/tmp"), 0, nil},
	} {
		s := wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", Then: x.then}}
		err := newEnd(several(s, 1), stream.Mode{}, stream.Options{}).meetBack(
			arrival{hello: stream.Hello{Back: x.port}})
		if (err == nil) != (x.want == nil) {
			t.Errorf("%s, %d: %v", x.then, x.port, err)
		}
		for _, w := range x.want {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%s, %d: %v, want %q", x.then, x.port, err, w)
			}
		}
	}
}
