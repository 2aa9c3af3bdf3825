// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// What each way to poll asks of sockets and NAPI, at which end; busy_poll alone means what it meant
// before there was a word for who polls.
func TestPolls(t *testing.T) {
	busy := sock.Options{BusyPollUs: 50, BusyBudget: 64, EpollUs: 50}
	suspend := sock.Options{BusyBudget: 64, EpollUs: 200, OnlyEpoll: true}
	for _, x := range []struct {
		c        Cell
		polls    string
		sut, tg  sock.Options
		napi, of nic.NAPISettings // of the SUT, and of the TG
	}{
		{c: Cell{RX: "tcp", TX: "tcp"}, polls: PollIRQ},
		{c: Cell{RX: "tcp", TX: "tcp", Poll: PollIRQ}, polls: PollIRQ},
		{c: Cell{RX: "tcp", TX: "tcp", BusyPollUs: 20}, polls: PollBusy, sut: sock.Options{BusyPollUs: 20},
			tg: sock.Options{BusyPollUs: 20}},
		{c: Cell{RX: "tcp", TX: "tcp", Poll: PollBusy}, polls: PollBusy, sut: busy,
			napi: nic.NAPISettings{DeferHardIRQs: 100, GROFlushTimeoutNs: 50_000}},
		{c: Cell{RX: "tcp", TX: "rr", Poll: PollBusy}, polls: PollBusy, sut: busy, tg: busy,
			napi: nic.NAPISettings{DeferHardIRQs: 100, GROFlushTimeoutNs: 50_000},
			of:   nic.NAPISettings{DeferHardIRQs: 100, GROFlushTimeoutNs: 50_000}},
		{c: Cell{RX: "tcp", TX: "tcp", Poll: PollSuspend, BusyPollUs: 200}, polls: PollSuspend, sut: suspend,
			napi: nic.NAPISettings{DeferHardIRQs: 100, GROFlushTimeoutNs: 200_000, IRQSuspendNs: 20_000_000}},
		{c: Cell{RX: "zcrx", TX: "tcp", Poll: PollThreaded}, polls: PollThreaded,
			napi: nic.NAPISettings{Threaded: "on"}},
		{c: Cell{RX: "tcp", TX: "tcp", Both: new(true), Poll: PollThreadedBusy}, polls: PollThreadedBusy,
			napi: nic.NAPISettings{Threaded: "busy-poll"}, of: nic.NAPISettings{Threaded: "busy-poll"}},
	} {
		if err := x.c.Check(); err != nil && x.c.Poll != PollIRQ {
			t.Errorf("%+v: %v", x.c, err)
		}
		if got := x.c.Polls(); got != x.polls {
			t.Errorf("%+v polls by %q", x.c, got)
		}
		for role, want := range map[stream.Role]sock.Options{stream.RX: x.sut, stream.TX: x.tg} {
			if got := x.c.PollOptions(role); got != want {
				t.Errorf("%s %s, %s %dus: sockets of %s are %+v, want %+v", x.c.RX, x.c.TX, x.c.Poll, x.c.BusyPollUs,
					role, got, want)
			}
		}
		if rx, tx := x.c.PollNAPI(stream.RX), x.c.PollNAPI(stream.TX); rx != x.napi || tx != x.of {
			t.Errorf("%s %s, %s: NAPI is %v, and %v", x.c.RX, x.c.TX, x.c.Poll, rx, tx)
		}
	}
}

// What nobody polls by is refused with the reason, and what does not concern a cell is left out.
func TestPollRefusals(t *testing.T) {
	for _, x := range []struct {
		c    Cell
		want string
	}{
		{Cell{RX: "zcrx", TX: "tcp", Poll: PollSuspend}, "suspended by epoll_wait alone"},
		{Cell{RX: "uring", TX: "tcp", Poll: PollSuspend}, "use busy, or a mode without a ring"},
		{Cell{RX: "tcp", TX: "uring", Poll: PollSuspend}, ""},
		{Cell{RX: "udp-xsk", TX: "udp", Poll: PollBusy}, "udp-xsk takes its packets from rings of AF_XDP"},
		{Cell{RX: "udp-xsk", TX: "udp", Poll: PollThreaded}, ""},
		{Cell{RX: "devmem", TX: "tcp", Flows: 4, Queues: 2, Poll: PollBusy}, "give each flow a queue"},
		{Cell{RX: "devmem", TX: "tcp", Flows: 2, Steer: SteerPort, Poll: PollSuspend}, "polls no queue"},
		{Cell{RX: "devmem", TX: "tcp", Flows: 4, Queues: 2, Poll: PollThreaded}, ""},
		{Cell{RX: "devmem", TX: "tcp", Flows: 2, Poll: PollBusy}, ""},
		{Cell{RX: "zcrx", TX: "tcp", Flows: 4, Queues: 2, Poll: PollBusy}, ""},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", Poll: PollBusy}, "poll busy: it applies to"},
		{Cell{RX: "tcp", TX: "tcp", Poll: PollThreaded, BusyPollUs: 50}, "with poll threaded none does"},
		{Cell{RX: "zcrx", TX: "tcp", Poll: PollBusy, LeaseQueue: "eth0:3"}, "belongs to the NIC"},
		{Cell{RX: "tcp", TX: "tcp", Poll: PollBusy,
			Set: "napi 0=defer-hard-irqs 1, gro-flush-timeout 20000, irq-suspend-timeout 1000"}, "use poll suspend"},
	} {
		err := x.c.Check()
		if (err != nil) != (x.want != "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.c, err, x.want)
		}
	}
	if err := (&Cell{TX: "tcp", Poll: PollBusy}).Check(); err == nil ||
		!strings.Contains(err.Error(), "say it to the") {
		t.Errorf("a sender alone: %v", err)
	}
	if err := (&Cell{TX: "rr", Poll: PollBusy}).Check(); err != nil {
		t.Errorf("a sender of requests alone: %v", err)
	}
	c := Cell{RX: "tcp", TX: "tcp", Poll: PollIRQ, BusyPollUs: 50}
	if c.Drop(); c.Poll != "" || c.BusyPollUs != 0 {
		t.Errorf("%+v is left", c)
	}
	c = Cell{RX: "tcp", TX: "tcp", BusyPollUs: 50}
	if c.Drop(); c.BusyPollUs != 50 {
		t.Errorf("%+v is left", c)
	}
	lo := &Hosts{Loopback: true}
	if r := lo.polled(&Cell{RX: "tcp", TX: "tcp", Poll: PollBusy}); r == nil || !r.Blocked ||
		!strings.Contains(r.Reason, "the path is loopback") {
		t.Errorf("over loopback: %+v", r)
	}
	if r := lo.polled(&Cell{RX: "tcp", TX: "tcp", BusyPollUs: 50}); r != nil { // it is told that it did nothing
		t.Errorf("over loopback: %+v", r)
	}
	for _, poll := range []string{PollBusy, PollThreaded} {
		c := Cell{RX: "tcp", TX: "tcp", Poll: poll}
		if err := c.CheckTurns(); err == nil || !strings.Contains(err.Error(), "poll: "+poll) {
			t.Errorf("in turns: %v", err)
		}
	}
}
