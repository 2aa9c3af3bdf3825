// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"
)

// What an application cannot do with the payload that it has by a mode is refused, with what it
// can.
func TestThenRefused(t *testing.T) {
	for want, c := range map[string]Cell{
		"": {RX: "zcrx", TX: "tcp", Then: ThenForward, Flows: 2},
		"rx tcp-trunc cannot pass payload on: use rx tcp, uring, zcrx, devmem": {RX: "tcp-trunc", TX: "tcp",
			Then: ThenForward},
		"rx uring takes it first: use rx tcp, or then: forward": {RX: "uring", TX: "tcp", Then: ThenSplice},
		"leave out both":           {RX: "tcp", TX: "tcp", Then: ThenForward, Both: new(true)},
		"never gets the payload":   {RX: "tcp", TX: "tcp", Then: ThenSplice, Touch: "verify"},
		"give each flow a queue":   {RX: "zcrx", TX: "tcp", Then: ThenForward, Flows: 2, Queues: 1},
		"steered by a rule":        {RX: "devmem", TX: "tcp", Then: ThenForward, Steer: SteerPort},
		"use one ring":             {RX: "zcrx", TX: "tcp", Then: ThenForward, Flows: 2, Queues: 1, QueueRings: 2},
		"use area pages or huge":   {RX: "zcrx", TX: "tcp", Then: ThenForward, Area: "udmabuf"},
		"leave out one of the two": {RX: "zcrx", TX: "tcp", Then: ThenForward, TLS: "user"},
		"or plain":                 {RX: "tcp", TX: "tcp", Then: ThenForward, TLS: "ktls"},
		"not as payload":           {RX: "tcp", TX: "tcp", Then: ThenSplice, TLS: "user"},
		"has a port of its own":    {RX: "zcrx", TX: "tcp", Then: ThenForward, LeaseQueue: "eth0:3"},
		"suspends no interrupts":   {RX: "tcp", TX: "tcp", Then: ThenSplice, Poll: PollSuspend},
		"which polls nothing":      {RX: "tcp", TX: "tcp", Then: ThenSplice, Poll: PollBusy},
		"it applies to":            {RX: "udp", TX: "udp", Then: ThenForward},
		"not to rx tcp, tx rr":     {RX: "tcp", TX: "rr", Then: ThenForward},
	} {
		no := CannotRun(&c, nil)
		if (no == nil) != (want == "") || no != nil && !strings.Contains(no.Reason, want) {
			t.Errorf("%+v: %+v, want %q", c, no, want)
		}
	}
	for _, then := range []string{ThenForward, ThenSplice} {
		if c := (Cell{RX: "tcp", TX: "tcp", Then: then}); c.CheckTurns() == nil {
			t.Errorf("%s in turns", then)
		}
	}
}
