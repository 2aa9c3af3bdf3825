// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"
)

func TestParseLease(t *testing.T) {
	for s, want := range map[string]Lease{"eth0:3": {"", "eth0", 3}, "netns:nic/eth0:0": {"nic", "eth0", 0},
		"eth0.100:7": {"", "eth0.100", 7}, "eth0:1:2": {"", "eth0:1", 2}} {
		if l, err := ParseLease(s); err != nil || l != want {
			t.Errorf("%s: %+v, %v, want %+v", s, l, err, want)
		}
	}
	for s, want := range map[string]string{
		"":                         "is not INTERFACE:QUEUE",
		"eth0":                     "is not INTERFACE:QUEUE",
		"eth0:":                    `"" is not the number of an RX queue`,
		"eth0:-1":                  "is not the number of an RX queue",
		"eth0:03":                  "is not the number of an RX queue",
		"eth0:65536":               "is not the number of an RX queue",
		":3":                       "no interface is named",
		"a,b:3":                    "2 interfaces, where one is wanted",
		"netns:nic:3":              "write a network namespace as netns:NAME/DEV",
		"netns:/proc/1/ns/net/e:3": "a namespace has its name there",
		"netns:../eth0:3":          "a namespace has its name there",
	} {
		if _, err := ParseLease(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}

// The container has the leased queue, and no other.
func TestLeaseFits(t *testing.T) {
	two, three := 2, 3
	for name, x := range map[string]struct {
		c    Cell
		want string
	}{
		"alone":         {Cell{RX: "zcrx"}, ""},
		"same queue":    {Cell{RX: "zcrx", Queue: &three}, ""},
		"another queue": {Cell{RX: "zcrx", Queue: &two}, "queue 2: lease_queue has queue 3"},
		"flows on it":   {Cell{RX: "zcrx", Flows: 4, Queues: 1}, ""},
		"flows":         {Cell{RX: "devmem", Flows: 4}, "it is one queue, and 4 flows have 4"},
		"flows of tcp":  {Cell{RX: "tcp", Flows: 4}, ""},
		"drops":         {Cell{RX: "tcp", Probe: "drops"}, "drops are told of one network namespace"},
		"connections":   {Cell{RX: "tcp", TX: "crr"}, "requests that connect have ports of their own"},
		"both ways":     {Cell{RX: "tcp", Both: new(true)}, "only what the container receives"},
		"datagrams":     {Cell{RX: "udp", TX: "udp"}, "it applies to"},
	} {
		x.c.LeaseQueue = "eth0:3"
		if x.c.TX == "" {
			x.c.TX = "tcp"
		}
		err := x.c.Check()
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	c := Cell{RX: "zcrx", TX: "tcp", LeaseQueue: "eth0:3"}
	if c.OnLease(); c.Queue == nil || *c.Queue != 3 {
		t.Error("zcrx does not take the leased queue over")
	}
	c = Cell{RX: "tcp", TX: "tcp", LeaseQueue: "eth0:3"}
	if c.OnLease(); c.Queue != nil {
		t.Error("tcp is steered to it")
	}
}
