// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"
)

// A rate without loss is looked for of packets alone.
func TestCheckLossFree(t *testing.T) {
	for name, x := range map[string]struct {
		c    Cell
		want string
	}{
		"datagrams":   {Cell{RX: "udp", TX: "udp", LossFree: true}, ""},
		"frames":      {Cell{RX: "xdp-drop", TX: "pktgen-xdp", LossFree: true}, ""},
		"a stream":    {Cell{RX: "tcp", TX: "tcp", LossFree: true}, "carries a stream"},
		"round trips": {Cell{RX: "udp", TX: "udp-rr", LossFree: true}, "rr_rate"},
	} {
		err := x.c.CheckLossFree()
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := x.c.Check(); (err == nil) != (x.want == "") {
			t.Errorf("%s: check says %v", name, err)
		}
	}
}

// Each ring has a flow, and what a process or the kernel cannot do is said before anything is run.
func TestCheckRings(t *testing.T) {
	two := Cell{RX: "zcrx", TX: "tcp", Flows: 4, Queues: 2, QueueRings: 2}
	for name, x := range map[string]struct {
		change func(*Cell)
		want   string
	}{
		"two rings":     {func(*Cell) {}, ""},
		"processes":     {func(c *Cell) { c.RingsIn = RingsProcesses }, ""},
		"too few flows": {func(c *Cell) { c.Flows = 3 }, "2 queues of 2 rings need 4 flows, and there are 3"},
		"one flow":      {func(c *Cell) { c.Flows, c.Queues = 1, 0 }, "1 queues of 2 rings need 2 flows"},
		"no rings":      {func(c *Cell) { c.QueueRings, c.RingsIn = 0, RingsProcesses }, "queue_rings"},
		"threads":       {func(c *Cell) { c.QueueRings, c.RingsIn = 0, RingsThreads }, ""},
		"huge":          {func(c *Cell) { c.RingsIn, c.Area = RingsProcesses, "huge" }, "processes share base pages"},
		"long": {func(c *Cell) { c.RingsIn, c.RXBufLen = RingsProcesses, 64<<10 },
			"processes share base pages"},
		"rr":            {func(c *Cell) { c.RingsIn, c.TX = RingsProcesses, "rr" }, "answers no requests"},
		"turns":         {func(c *Cell) { c.RingsIn, c.Turn = RingsProcesses, "240ms" }, "takes no turns"},
		"devmem":        {func(c *Cell) { c.RX = "devmem" }, "queue_rings"},
		"grows":         {func(c *Cell) { c.AreaStart, c.AreaBytes = 4<<20, 8<<20 }, ""},
		"does not grow": {func(c *Cell) { c.AreaStart, c.AreaBytes = 8<<20, 8<<20 }, "is not larger"},
		"dmabuf":        {func(c *Cell) { c.AreaStart, c.Area = 4<<20, "udmabuf" }, "a dmabuf whole"},
	} {
		c := two
		x.change(&c)
		if err := c.Check(); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c := two; c.OneFlow().QueueRings != 0 {
		t.Errorf("one flow: %+v", c.OneFlow())
	}
}

// Frames have one flow, and payloads that a page holds.
func TestCheckFrames(t *testing.T) {
	for _, x := range []struct {
		c  Cell
		ok bool
	}{
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp"}, true},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", MessageBytes: 2958, Flows: 1}, true},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", MessageBytes: 2959}, false},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", MessageBytes: 17}, false},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", Flows: 2}, false},
		{Cell{RX: "tcp", TX: "tcp", Flows: 2, MessageBytes: 1 << 20}, true},
		{Cell{RX: "xdp-tx", TX: "pktgen-xdp", XDPTouch: "read"}, false},
		{Cell{RX: "xdp-tx", TX: "pktgen-xdp", XDPTouch: "swap-macs"}, true}, {Cell{RX: "xdp-tx", TX: "pktgen-xdp"},
			true},
		{Cell{RX: "xdp-redirect", TX: "pktgen-xdp", XDPRedirect: "dev", XDPTouch: "none"}, false},
		{Cell{RX: "xdp-redirect", TX: "pktgen-xdp", XDPRedirect: "dev:eth1", XDPTouch: "none"}, true},
		{Cell{RX: "xdp-redirect", TX: "pktgen-xdp", XDPTouch: "none"}, true},
		{Cell{RX: "tcp", TX: "tcp", XDPTouch: "read"}, false},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", XDPTouch: "read"}, true},
	} {
		if err := x.c.Check(); (err == nil) != x.ok {
			t.Errorf("%+v: %v", x.c, err)
		}
	}
}

// By AF_XDP several flows are refused before anything is changed, and not by the program of the
// first.
func TestAFXDPHasOneFlow(t *testing.T) {
	for _, rx := range []string{"udp-xsk", "udp-xsk-zc", "udp"} {
		for _, flows := range []int{0, 1, 2} {
			err := (&Cell{RX: rx, TX: "udp", Flows: flows}).Check()
			if bad := flows > 1 && rx != "udp"; (err != nil) != bad || bad &&
				!strings.Contains(err.Error(), rx+" takes a whole interface") {
				t.Errorf("%s, %d flows: %v", rx, flows, err)
			}
		}
	}
}

// Each rule has a name of its own, says what it looks at, and looks.
func TestRulesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules {
		n := 0
		for _, set := range []bool{r.cell != nil, r.mode != nil, r.run != nil} {
			if set {
				n++
			}
		}
		if n != 1 || r.Name == "" || r.Looks == "" || seen[r.Name] {
			t.Errorf("%q looks at %q, by %d functions", r.Name, r.Looks, n)
		}
		seen[r.Name] = true
	}
}

// A connection for each request is refused to receive modes that take one, with what to do, and so
// is what means nothing then.
func TestConnectionsAreRefused(t *testing.T) {
	for _, x := range []struct {
		c    Cell
		want string
	}{
		{Cell{RX: "uring", TX: "crr"}, "uring receives one connection, and takes no others"},
		{Cell{RX: "zcrx", TX: "crr"}, "zcrx steers each flow to its queue by a rule of both ports"},
		{Cell{RX: "devmem", TX: "crr"}, "devmem steers each flow to its queue by a rule of both ports"},
		{Cell{RX: "devmem", TX: "crr", Steer: SteerPort, Flows: 4, Queues: 2}, "which serves no other flow"},
		{Cell{RX: "zcrx", TX: "crr", Steer: SteerPort, Flows: 4, Queues: 4}, ""},
		{Cell{RX: "devmem", TX: "crr", Steer: SteerPort, Queue: new(3)}, ""},
		{Cell{RX: "zcrx", TX: "crr", Steer: SteerPort, HoldBytes: 1 << 20}, "it means nothing"},
		{Cell{RX: "zcrx", TX: "crr", Steer: SteerPort, AreaStart: 1 << 20}, "as much in flight as connections have"},
		{Cell{RX: "tcp", TX: "crr", Steer: SteerPort, Flows: 4, Queues: 2}, "no rule steers the flow's connections"},
		{Cell{RX: "tcp", TX: "crr", Steer: SteerPort, Flows: 4}, "steer port: with"},
		{Cell{RX: "tcp", TX: "crr", Queue: new(1)}, "no rule steers the flow's connections"},
		{Cell{RX: "tcp", TX: "crr", Probe: "latency"}, "latency looks at a flow's own connection"},
		{Cell{RX: "tcp", TX: "crr", GatherUs: new(10)}, "it means nothing"},
		{Cell{RX: "tcp", TX: "crr", Flows: 4, InFlight: 8}, ""},
		{Cell{RX: "uring", TX: "rr"}, ""},
	} {
		no := CannotRun(&x.c, nil)
		if (no == nil) != (x.want == "") || no != nil && !strings.Contains(no.Reason, x.want) {
			t.Errorf("%s/%s: %+v, want %q", x.c.RX, x.c.TX, no, x.want)
		}
	}
}
