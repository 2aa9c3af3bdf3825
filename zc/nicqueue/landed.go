// SPDX-License-Identifier: MIT

package nicqueue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Place is where a packet came in, by its NAPI instance.
type Place struct {
	Queues []int  // the RX queue; of several that share a NAPI instance, one of these, in order
	Dev    string // the other interface by which it came; "": by one of Queues
}

// Elsewhere reports whether that was another interface.
func (p Place) Elsewhere() bool { return p.Dev != "" }

// On reports whether that was RX queue id. ok is false where it may have been another that shares
// its NAPI instance.
func (p Place) On(id int) (on, ok bool) {
	on = slices.Contains(p.Queues, id)
	return on, !on || len(p.Queues) == 1
}

// Queue returns the number of the RX queue, where it can be one only.
func (p Place) Queue() (id int, ok bool) {
	if len(p.Queues) != 1 {
		return 0, false
	}
	return p.Queues[0], true
}

// String names it: queue 3; one of queues 3, 5; interface eth1.
func (p Place) String() string {
	if p.Elsewhere() {
		return "interface " + p.Dev
	}
	if id, ok := p.Queue(); ok {
		return fmt.Sprintf("queue %d", id)
	}
	ids := make([]string, len(p.Queues))
	for i, id := range p.Queues {
		ids[i] = fmt.Sprint(id)
	}
	return "one of queues " + strings.Join(ids, ", ")
}

// Landed finds where the last packet of socket fd came in. It reads all queues for that. ok is
// false when it cannot be told.
func (q *Queue) Landed(fd int) (p Place, ok bool) {
	if _, err := q.lookAgain(); err != nil {
		return p, false
	}
	if q.stranger.dev == "" { // whose it is may be known by now
		q.stranger = stranger{}
	}
	return q.SeenOn(fd)
}

// NotOnQueue are the words between two queues by which [Queue.Whereabouts] is known to tell that a
// flow came by another one than the provider's.
const NotOnQueue = ", but the provider is on queue "

// ByOtherDev advises what to do about a flow that comes by another interface than the one whose
// rules are to steer it.
func ByOtherDev(came, dev string) string {
	return fmt.Sprintf("let the flow come by %s: look at the sender's routes and neighbours (ip route get, ip "+
		"neigh), and where both interfaces have addresses of one network let only one answer for each (sysctl -w "+
		"net.ipv4.conf.all.arp_ignore=1); or name %s (--dev)", dev, came)
}

// Unknown explains why it cannot be told by which queue the flow of socket fd came.
func (q *Queue) Unknown(fd int) string {
	if p, ok := q.Landed(fd); ok {
		if _, ok := p.Queue(); ok || p.Elsewhere() {
			return fmt.Sprintf("only afterwards was it seen on %v", p)
		}
		return fmt.Sprintf("it came by %v, which share a NAPI instance", p)
	}
	if napi, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID); err != nil || napi == 0 {
		return "its socket has no SO_INCOMING_NAPI_ID"
	}
	if q.NAPI == 0 {
		return fmt.Sprintf("the driver of %s does not link queue %d with a NAPI instance (queue-get without napi-id)",
			q.Dev.Name, q.ID)
	}
	return "no queue has the NAPI instance of its SO_INCOMING_NAPI_ID"
}

// Whereabouts describes where a flow that was copied came in, other than where it should have, and
// what to do about it.
func (q *Queue) Whereabouts(fd int) (where, fix string) {
	p, ok := q.Landed(fd)
	if !ok {
		return fmt.Sprintf("unknown which queue the flow landed on: %s; the provider is on queue %d", q.Unknown(fd),
				q.ID),
			"look at the driver's counters (ethtool -S " + q.Dev.Name +
				" shows bytes per queue) and its ntuple rules (ethtool -n " + q.Dev.Name + ")"
	}
	if p.Elsewhere() {
		return fmt.Sprintf("the flow came by %v, and the provider is on queue %d of %s", p, q.ID, q.Dev.Name),
			ByOtherDev(p.Dev, q.Dev.Name)
	}
	on, sure := p.On(q.ID)
	if !on {
		return fmt.Sprintf("the flow landed on %v%s%d", p, NotOnQueue, q.ID),
			"look for a rule that steers it elsewhere (ethtool -n " + q.Dev.Name +
				"), leave out --steer-queue, or choose --queue " + fmt.Sprint(p.Queues[0])
	}
	if !sure {
		return fmt.Sprintf("the flow landed on %v, which share a NAPI instance, and the provider is on queue %d", p,
				q.ID),
			"look at the driver's counters of each queue (ethtool -S " + q.Dev.Name +
				") and its ntuple rules (ethtool -n " + q.Dev.Name +
				"), or give each queue an interrupt of its own with fewer of them (ethtool -L " + q.Dev.Name + ")"
	}
	if now, err := q.Dev.Queue(q.ID); err == nil && now.Provider != q.Provider {
		return fmt.Sprintf("the flow landed on queue %d as it should, but its memory is no longer bound", q.ID),
			"keep others from resetting " + q.Dev.Name + ", and look at the kernel's messages (dmesg)"
	}
	h, err := q.Dev.HeaderSplit()
	if err != nil || h.State != nic.SplitOn || h.Threshold > 0 {
		return fmt.Sprintf("the flow landed on queue %d as it should, but headers are no longer split: %v", q.ID, h),
			"keep others from changing the rings of " + q.Dev.Name
	}
	return fmt.Sprintf("the flow landed on queue %d, where the provider is: packets arrived before it was "+
			"steered, or the driver pulled payload out of the provider's memory", q.ID),
		"look at the driver's counters: ethtool -S " + q.Dev.Name
}
