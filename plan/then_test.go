// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"
)

// toFile makes a cell one that writes to a file.
func toFile(c Cell) Cell {
	c.Then = ThenWrite("/var/tmp")
	return c
}

// Only a clean path from the root names a folder.
func TestThenDir(t *testing.T) {
	o := LookupOption("then")
	for dir, ok := range map[string]bool{"/": true, "/var/tmp": true, "/mnt/a b": true, "": false, "tmp": false,
		"./tmp": false, "/var/../tmp": false, "/tmp//": false, "//tmp": false, "/tmp/\x1b[2J": false,
		"/" + strings.Repeat("x", 255): false} {
		c := new(Cell)
		if err := o.Set(c, "write:"+dir); (err == nil) != ok || ok && (c.WritesTo() != dir || c.PassesOn()) {
			t.Errorf("%q: %v; %q", dir, err, c.WritesTo())
		}
	}
	c := new(Cell)
	if err := o.Set(c, "write:/tmp/"); err != nil || c.WritesTo() != "/tmp" {
		t.Errorf("with a slash at its end: %v, %q", err, c.WritesTo())
	}
	if err := o.Set(c, "write:/var/../tmp"); err == nil || !strings.Contains(err.Error(), `say "/tmp"`) {
		t.Error(err)
	}
	if err := o.Set(new(Cell), "write"); err == nil || !strings.Contains(err.Error(), "write:/var/tmp") {
		t.Error(err)
	}
}

// What an application cannot do with the payload that it has by a mode is refused, with what it
// can.
func TestThenRefused(t *testing.T) {
	for want, c := range map[string]Cell{
		"": {RX: "zcrx", TX: "tcp", Then: ThenForward, Flows: 2},
		"rx tcp-trunc cannot pass payload on: use rx tcp, uring, zcrx, devmem": {RX: "tcp-trunc", TX: "tcp",
			Then: ThenForward},
		"rx uring takes it first: use rx tcp, or then: forward": {RX: "uring", TX: "tcp", Then: ThenSplice},
		"leave out both":                {RX: "tcp", TX: "tcp", Then: ThenForward, Both: new(true)},
		"never gets the payload":        {RX: "tcp", TX: "tcp", Then: ThenSplice, Touch: "verify"},
		"give each flow a queue":        {RX: "zcrx", TX: "tcp", Then: ThenForward, Flows: 2, Queues: 1},
		"steered by a rule":             {RX: "devmem", TX: "tcp", Then: ThenForward, Steer: SteerPort},
		"use one ring":                  {RX: "zcrx", TX: "tcp", Then: ThenForward, Flows: 2, Queues: 1, QueueRings: 2},
		"use area pages or huge":        {RX: "zcrx", TX: "tcp", Then: ThenForward, Area: "udmabuf"},
		"leave out one of the two":      {RX: "zcrx", TX: "tcp", Then: ThenForward, TLS: "user"},
		"or plain":                      {RX: "tcp", TX: "tcp", Then: ThenForward, TLS: "ktls"},
		"not as payload":                {RX: "tcp", TX: "tcp", Then: ThenSplice, TLS: "user"},
		"has a port of its own":         {RX: "zcrx", TX: "tcp", Then: ThenForward, LeaseQueue: "eth0:3"},
		"suspends no interrupts":        {RX: "tcp", TX: "tcp", Then: ThenSplice, Poll: PollSuspend},
		"which polls nothing":           {RX: "tcp", TX: "tcp", Then: ThenSplice, Poll: PollBusy},
		"no file is written from it":    toFile(Cell{RX: "devmem", TX: "tcp"}),
		"use area pages or huge, or rx": {RX: "zcrx", TX: "tcp", Then: ThenForward, Area: "udmabuf"},
		"(EFAULT): use area pages":      toFile(Cell{RX: "zcrx", TX: "tcp", Area: "udmabuf"}),
		"rx tcp-trunc writes to no file: use rx tcp, uring, zcrx": toFile(Cell{RX: "tcp-trunc", TX: "tcp"}),
		"what was encrypted (tls)":                                toFile(Cell{RX: "tcp", TX: "tcp", TLS: "ktls"}),
		"while the other way goes on":                             toFile(Cell{RX: "tcp", TX: "tcp", Both: new(true)}),
		"257 files share 1024 MiB, and each is 4 MiB long at least: use at most 256 flows": toFile(Cell{RX: "tcp", TX: "tcp",
			Flows: 257}),
		"from a container": toFile(Cell{RX: "zcrx", TX: "tcp", LeaseQueue: "eth0:3"}),
		"tx crr, not to rx tcp, tx rr: a request is answered": toFile(Cell{RX: "tcp", TX: "rr"}),
		"each flow a queue of its own":                        toFile(Cell{RX: "zcrx", TX: "tcp", Flows: 2, Queues: 1}),
		"for each queue (queue_rings)":                        toFile(Cell{RX: "zcrx", TX: "tcp", Flows: 2, Queues: 1, QueueRings: 2}),
		"it applies to":                                       {RX: "udp", TX: "udp", Then: ThenForward},
		"not to rx tcp, tx rr":                                {RX: "tcp", TX: "rr", Then: ThenForward},
	} {
		no := CannotRun(&c, nil)
		if (no == nil) != (want == "") || no != nil && !strings.Contains(no.Reason, want) {
			t.Errorf("%+v: %+v, want %q", c, no, want)
		}
	}
	for _, rx := range []string{"tcp", "uring", "zcrx"} {
		c := toFile(Cell{RX: rx, TX: "tcp", Touch: "verify", Poll: PollBusy, Flows: 256})
		if no := CannotRun(&c, nil); no != nil {
			t.Errorf("%s writes to no file: %+v", rx, no)
		}
	}
	for _, then := range []string{ThenForward, ThenSplice, ThenWrite("/tmp")} {
		if c := (Cell{RX: "tcp", TX: "tcp", Then: then}); c.CheckTurns() == nil {
			t.Errorf("%s in turns", then)
		}
	}
}
