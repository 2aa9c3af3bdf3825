// SPDX-License-Identifier: MIT

package end

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// faultOf is what is wrong with the first of two flows of a path.
func faultOf(path stream.Mode, f Flow) verdict {
	e := &Evidence{Role: path.Role, Mode: path.Name, Path: path, Cell: &plan.Cell{RX: "tcp"}, Window: f.Counted,
		Flows: []Flow{f, {N: 1, Counted: f.Counted, Taken: f.Counted.Bytes, Moved: true}}}
	return e.Judge()
}

// Each byte that a path took is counted, and there are some.
func TestEndBytes(t *testing.T) {
	sorts := stream.Mode{Role: stream.RX, Traits: stream.ZeroCopy}
	of := func(bytes, taken uint64) Flow {
		return Flow{Moved: true, Taken: taken, Counted: stream.Counters{Bytes: bytes, ZeroCopyBytes: bytes}}
	}
	for _, x := range []struct {
		path stream.Mode
		flow Flow
		want string
	}{
		{sorts, of(9, 9), ""}, {sorts, of(9, 10), "flow 0: the path took 10 bytes, but reports for 9"},
		{stream.Mode{}, of(9, 10), ""}, {stream.Mode{}, of(0, 0), "flow 0: no payload was transferred"},
	} {
		if v := faultOf(x.path, x.flow); !strings.HasPrefix(v.Reason, x.want) ||
			(v.Verdict == results.OK) != (x.want == "") ||
			(v.Fix == "") != (x.want == "") {
			t.Errorf("%+v: %+v, want %q", x.flow, v, x.want)
		}
	}
	f := of(9, 9)
	f.Peer = &stream.Farewell{Bytes: 8}
	if v := faultOf(stream.Mode{Role: stream.TX}, f); v.Reason != "flow 0: byte counts differ: 9 sent, 8 received" {
		t.Errorf("%+v", v)
	}
}

// Payload, requests, answers and packets are as they were sent.
func TestEndPayload(t *testing.T) {
	packets := stream.Mode{Kind: stream.Datagram}
	for want, x := range map[string]struct {
		path stream.Mode
		flow Flow
	}{
		"flow 0: 1 payload bytes are wrong, the first at flow position 7": {stream.Mode{},
			Flow{Counted: stream.Counters{Bytes: 9, Mismatches: 1, FirstMismatch: 8}}},
		"flow 0: the receiver found 3 wrong payload bytes": {stream.Mode{},
			Flow{Counted: stream.Counters{Bytes: 9}, Peer: &stream.Farewell{Bytes: 9, Mismatches: 3}}},
		"flow 0: 9 bytes of requests, 3 bytes each, but 2 answers": {stream.Mode{},
			Flow{Trips: true, RequestBytes: 3, Counted: stream.Counters{Bytes: 9, Transactions: 2}}},
		"flow 0: 1 bytes of answers do not match their requests, the first in answer 1": {stream.Mode{},
			Flow{Trips: true, Asks: true, RequestBytes: 3, AnswerBytes: 4,
				Counted: stream.Counters{Bytes: 9, Transactions: 3, Mismatches: 1, FirstMismatch: 8}}},
		"flow 0: 9 requests, of which 5 were answered and 3 given up": {packets, Flow{Trips: true, Asks: true,
			Counted: stream.Counters{Bytes: 9, Packets: 9, Transactions: 5, TripsLost: 3}}},
		"flow 0: 9 requests came, and 10 answers went": {packets,
			Flow{Trips: true, Counted: stream.Counters{Bytes: 9, Packets: 9, Transactions: 10}}},
		"flow 0: 2 packets differ from what was sent": {packets,
			Flow{Counted: stream.Counters{Bytes: 9, Packets: 9, Corrupted: 2}}},
	} {
		x.flow.Moved = true
		if v := faultOf(x.path, x.flow); !strings.HasPrefix(v.Reason, want) || v.Fix == "" || v.Disturbed ||
			v.Verdict != results.Invalid {
			t.Errorf("%+v, want %q", v, want)
		}
	}
}

// Of several flows each brings something in the window.
func TestEndMoved(t *testing.T) {
	still := Flow{Counted: stream.Counters{Bytes: 9}}
	if v := faultOf(stream.Mode{}, still); !strings.HasPrefix(v.Reason,
		"flow 0: no payload was transferred in the window, while other flows moved") || v.Fix == "" ||
		len(v.Flows) != 2 || v.Flows[0] == "" || v.Flows[1] != "" {
		t.Errorf("%+v", v)
	}
}

// A flow that was moved for a while was disturbed; one that is elsewhere for good, or came by
// another interface, was not.
func TestEndQueue(t *testing.T) {
	for _, x := range []struct {
		flow      Flow
		want, fix string
		disturbed bool
	}{
		{Flow{}, "", "", false},
		{Flow{Strayed: "seen on queue 3"}, "flow 0: seen on queue 3", "something moved it", true},
		{Flow{Strayed: "seen on queue 3", Evidence: stream.Evidence{Astray: "landed on 3"}}, "flow 0: landed on 3",
			"look for a rule", false},
		{Flow{Strayed: "seen elsewhere", OtherDevFix: "by eth1"}, "flow 0: seen elsewhere", "by eth1", false},
	} {
		x.flow.Counted.Bytes, x.flow.Moved = 9, true
		v := faultOf(stream.Mode{}, x.flow)
		if v.Reason != x.want || !strings.HasPrefix(v.Fix, x.fix) ||
			slices.Contains(v.Flags, results.FlagDisturbed) != x.disturbed {
			t.Errorf("%+v: %+v", x.flow, v)
		}
	}
}
