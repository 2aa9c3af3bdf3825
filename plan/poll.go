// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
