// SPDX-License-Identifier: MIT

package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ifpath"
)

// Lease is an RX queue of a NIC that is leased to a container.
type Lease struct {
	Netns string // where the NIC is, as of ip-netns(8); "": zcbench's own
	Dev   string
	Queue int
}

// ParseLease reads eth0:3, or netns:NAME/eth0:3. Files come from anybody: a namespace has a name.
func ParseLease(s string) (l Lease, err error) {
	cut := strings.LastIndexByte(s, ':')
	if cut < 0 {
		return l, fmt.Errorf("%.40q is not INTERFACE:QUEUE, such as eth0:3 or netns:NAME/eth0:3", s)
	}
	l.Queue, err = strconv.Atoi(s[cut+1:])
	if err != nil || l.Queue < 0 || l.Queue > 65535 || strconv.Itoa(l.Queue) != s[cut+1:] {
		return l, fmt.Errorf("%.40q: %q is not the number of an RX queue: want INTERFACE:QUEUE, such as eth0:3", s,
			s[cut+1:])
	}
	p, err := ifpath.ParseOne(s[:cut])
	switch {
	case err != nil:
		return l, fmt.Errorf("%.40q: %w", s, err)
	case strings.Contains(p.Netns, "/") || p.Netns == "." || p.Netns == "..":
		return l, fmt.Errorf("%.40q: a namespace has its name there (ip netns): netns:NAME/INTERFACE:QUEUE", s)
	}
	l.Netns, l.Dev = p.Netns, p.Dev
	return l, nil
}

// Lease returns the queue that the receiver has leased; nil: none.
func (c *Cell) Lease() *Lease {
	if c.LeaseQueue == "" {
		return nil
	}
	l, err := ParseLease(c.LeaseQueue)
	if err != nil {
		return nil // it was read when it was set
	}
	return &l
}

// OnLease names the leased queue as that of the flows, where the receive mode takes one over.
func (c *Cell) OnLease() {
	if l := c.Lease(); l != nil && c.Queue == nil && c.TakesQueues() {
		c.Queue = &l.Queue
	}
}

// FirstQueue is the queue with which begin those that flows are spread over: the one that is named,
// or the leased one; nil: any will do. alone: the others need not come after it. A mode that takes
// no memory in a container may have others than the leased one.
func (c *Cell) FirstQueue() (first *int, alone bool) {
	l := c.Lease()
	if l == nil {
		return c.Queue, false
	}
	return &l.Queue, true
}

// leaseFits refuses queues beside the leased one.
func leaseFits(c *Cell, _ []stream.Mode) error {
	l := c.Lease()
	switch {
	case l == nil:
	case c.Queue != nil && *c.Queue != l.Queue:
		return c.refuse("queue", fmt.Errorf("lease_queue has queue %d, and the container has no other", l.Queue))
	case slices.Contains(c.Probes(), "drops"):
		return c.refuse("probe", errors.New("drops are told of one network namespace, and with lease_queue the "+
			"flow is in two"))
	case c.Connects():
		return c.refuse("lease_queue", errors.New("only packets to the flows' port are redirected into the container, "+
			"and requests that connect have ports of their own: use tx rr"))
	case c.BothWays():
		return c.refuse("both", errors.New("with lease_queue only what the container receives is its own: leave "+
			"one out"))
	case c.PassesOn():
		return c.refuse("then", errors.New("only packets to the flows' port are redirected into the container, and "+
			"the connection by which payload is passed on has a port of its own: leave out then, or lease_queue"))
	case c.Then != "":
		return c.refuse("then", errors.New("nobody has tried to write to a file from a container with a leased queue: "+
			"leave out then, or lease_queue"))
	case c.TakesQueues() && c.NQueues() > 1:
		return c.refuse("lease_queue", fmt.Errorf("it is one queue, and %d flows have %d: queues: 1 (--queues 1) puts "+
			"all on it", c.NFlows(), c.NQueues()))
	}
	return nil
}
