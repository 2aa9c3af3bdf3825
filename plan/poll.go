// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// What takes packets from the NIC's queues ([Cell].Poll).
const (
	PollIRQ          = "irq"           // softirq, when an interrupt says that there are some
	PollBusy         = "busy"          // the application, in its calls
	PollSuspend      = "suspend"       // the application, and interrupts stay off while it keeps up
	PollThreaded     = "threaded"      // a kernel thread of each queue, when an interrupt wakes it
	PollThreadedBusy = "threaded-busy" // one that never rests
)

var polls = []string{PollIRQ, PollBusy, PollSuspend, PollThreaded, PollThreadedBusy}

// poll is how a cell's Poll is read and written. What is as found is said by leaving it out; its
// word stays in a cell until [Cell.Drop], where busy_poll alone means busy.
var poll = value{
	raw: func(c *Cell) string {
		if c.Poll == PollIRQ {
			return ""
		}
		return c.Poll
	},
	set: func(c *Cell, s string) error {
		if !slices.Contains(polls, s) {
			return fmt.Errorf("%q is not one of %s", s, strings.Join(polls, ", "))
		}
		c.Poll = s
		return nil
	},
	show: func(raw string) string { return cmp.Or(raw, PollIRQ) },
	zero: func(c *Cell) { c.Poll = "" },
}

// Polls returns what takes packets from the queues in a run of the cell. A busy_poll without a word
// of who polls is of sockets and rings that poll, with the interrupts as the host has them.
func (c *Cell) Polls() string {
	switch {
	case c.Poll != "":
		return c.Poll
	case c.BusyPollUs > 0:
		return PollBusy
	}
	return PollIRQ
}

// pollWord names the option by which the cell polls.
func (c *Cell) pollWord() string {
	if c.Poll != "" {
		return "poll: " + c.Poll
	}
	return "busy_poll"
}

// PollsAt reports whether the cell's poll is that of an end's queues, too: of the receiver's, and
// of the sender's where that waits for packets as well.
func (c *Cell) PollsAt(role stream.Role) bool {
	return c.Poll != "" && c.Poll != PollIRQ && (role == stream.RX || c.RoundTrips() || c.BothWays())
}

// What an application that polls does unless told otherwise: as of the kernel's own test
// (tools/testing/selftests/net/busy_poll_test.sh).
const (
	usualBusyPollUs = 50
	pollBudget      = 64 // packets of a look: as many as softirq takes, and no more without a privilege
	deferHardIRQs   = 100
	irqSuspendNs    = 20_000_000
)

// PollOptions says how the sockets and rings of an end poll.
func (c *Cell) PollOptions(role stream.Role) (o sock.Options) {
	if c.Poll == "" {
		o.BusyPollUs = c.BusyPollUs // with interrupts as the host has them
	}
	if !c.PollsAt(role) {
		return o
	}
	us := cmp.Or(c.BusyPollUs, usualBusyPollUs)
	switch c.Poll {
	case PollBusy:
		return sock.Options{BusyPollUs: us, BusyBudget: pollBudget, EpollUs: us}
	case PollSuspend:
		return sock.Options{BusyBudget: pollBudget, EpollUs: us, OnlyEpoll: true}
	}
	return o
}

// PollNAPI says how the NAPI instances of an end's queues are set for its poll; zero values are
// left as found. Who polls in place of interrupts has them off until it has not polled for as long
// as it polls before it sleeps.
func (c *Cell) PollNAPI(role stream.Role) (s nic.NAPISettings) {
	if !c.PollsAt(role) {
		return s
	}
	flush := int64(cmp.Or(c.BusyPollUs, usualBusyPollUs)) * 1000
	switch c.Poll {
	case PollBusy:
		s.DeferHardIRQs, s.GROFlushTimeoutNs = deferHardIRQs, flush
	case PollSuspend:
		s.DeferHardIRQs, s.GROFlushTimeoutNs, s.IRQSuspendNs = deferHardIRQs, flush, irqSuspendNs
	case PollThreaded:
		s.Threaded = "on"
	case PollThreadedBusy:
		s.Threaded = "busy-poll"
	}
	return s
}

// SuspendsIRQs reports whether the cell sets an irq-suspend-timeout of the receiver's queues.
func (c *Cell) SuspendsIRQs() bool {
	return slices.ContainsFunc(c.Others(), func(o Other) bool {
		s, err := nic.ParseNAPISettings(o.Value)
		return o.End != "tg" && strings.HasPrefix(o.Name, "napi ") && err == nil && s.IRQSuspendNs > 0
	})
}

// pollFits refuses a way to poll that a mode cannot have.
func pollFits(c *Cell, all []stream.Mode) error {
	byApp := c.Poll == PollBusy || c.Poll == PollSuspend
	for _, m := range all {
		switch {
		case !c.PollsAt(m.Role) || !byApp:
		case m.Has(stream.AFXDP):
			return c.refuse("poll", fmt.Errorf("%s takes its packets from rings of AF_XDP, by which nothing is polled "+
				"yet: use threaded, or leave it out", m.Name))
		case m.TakesQueue() && !m.Has(stream.UsesRing) && (c.ByPort() || c.NThreads(m.Role) < c.NFlows()):
			return c.refuse("poll", fmt.Errorf("a thread of %s waits for all flows of its queue by ppoll, which polls "+
				"no queue: give each flow a queue (queues), and leave steer: port out, or use threaded", m.Name))
		case c.Poll == PollSuspend && m.Has(stream.UsesRing):
			return c.refuse("poll", fmt.Errorf("%s waits in io_uring_enter, and interrupts are suspended by "+
				"epoll_wait alone (fs/eventpoll.c: ep_suspend_napi_irqs): use busy, or a mode without a ring", m.Name))
		}
	}
	switch {
	case c.Poll == "", c.Poll == PollIRQ:
	case len(all) > 0 && all[0].Role == stream.TX && !c.PollsAt(stream.TX): // of an end alone
		return c.refuse("poll", fmt.Errorf("%s waits for no payload: say it to the receiver", all[0].Name))
	case byApp && c.Then == ThenSplice:
		return c.refuse("poll", errors.New("splice(2) waits in sk_wait_data (net/ipv4/tcp.c: tcp_splice_read), which "+
			"polls nothing, and suspends no interrupts: use then: forward, or poll threaded, or leave it out"))
	case c.Poll == PollBusy && c.SuspendsIRQs():
		return c.refuse("poll", errors.New("an irq-suspend-timeout is set beside it (set), by which some waits would "+
			"suspend interrupts and some not: use poll suspend, or leave that out"))
	case c.LeaseQueue != "":
		return c.refuse("poll", errors.New("the NAPI instance of a leased queue belongs to the NIC, which is not in "+
			"the container: set it there (napi of --set), or leave it out"))
	case c.BusyPollUs > 0 && !byApp:
		return c.refuse("busy_poll", fmt.Errorf("it says for how long an application polls, and with poll %s none "+
			"does: leave it out, or use poll busy or suspend", c.Poll))
	}
	return nil
}

// dropPoll leaves out what says nothing of the cell's way to poll: how long the application polls,
// where it does not, and the word for what is as found.
func (c *Cell) dropPoll() {
	switch c.Poll {
	case PollIRQ:
		c.Poll, c.BusyPollUs = "", 0
	case PollThreaded, PollThreadedBusy:
		c.BusyPollUs = 0
	}
}
