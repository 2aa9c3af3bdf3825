// SPDX-License-Identifier: MIT

package nicqueue

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Landed is the RX queue that the last packet of socket fd came by; its number is [Elsewhere] where
// that was another interface ([Queue.OtherDev]). ok is false when it cannot be told.
func (q *Queue) Landed(fd int) (on nic.Queue, ok bool) {
	id, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID)
	if err != nil || id == 0 {
		return on, false
	}
	all, err := q.lookAgain()
	if err != nil {
		return on, false
	}
	if q.NAPI == uint32(id) { // of several that it may serve
		return numbered(all, q.ID)
	}
	if is, ok := seen.queue(q.Dev.Index, uint32(id)); ok {
		return numbered(all, is)
	}
	q.stranger = q.strange(uint32(id))
	on.ID = Elsewhere
	return on, q.OtherDev() != ""
}

// NotOnQueue are the words between two queues by which [Queue.Whereabouts] is known to tell that a
// flow came by another one than the provider's.
const NotOnQueue = ", but the provider is on queue "

// ByOtherDev says what to do about a flow that comes by another interface than the one whose rules
// are to steer it.
func ByOtherDev(came, dev string) string {
	return fmt.Sprintf("let the flow come by %s: look at the sender's routes and neighbours (ip route get, ip neigh), and where both interfaces have addresses of one network let only one answer for each (sysctl -w net.ipv4.conf.all.arp_ignore=1); or name %s (--dev)", dev, came)
}

// Whereabouts says of a flow that was copied where it came in, other than where
// it should have, and what to do about it.
func (q *Queue) Whereabouts(fd int) (where, fix string) {
	on, ok := q.Landed(fd)
	if !ok {
		return fmt.Sprintf("unknown which queue the flow landed on (no SO_INCOMING_NAPI_ID); the provider is on queue %d", q.ID),
			"check that the driver reports its NAPI instances (ethtool -S " + q.Dev.Name + " shows bytes per queue) and its ntuple rules (ethtool -n " + q.Dev.Name + ")"
	}
	if on.ID == Elsewhere {
		return fmt.Sprintf("the flow came by interface %s, and the provider is on queue %d of %s", q.OtherDev(), q.ID, q.Dev.Name), ByOtherDev(q.OtherDev(), q.Dev.Name)
	}
	if on.ID != q.ID {
		return fmt.Sprintf("the flow landed on queue %d%s%d", on.ID, NotOnQueue, q.ID),
			"look for a rule that steers it elsewhere (ethtool -n " + q.Dev.Name + "), leave out --steer-queue, or choose --queue " + fmt.Sprint(on.ID)
	}
	if on.Provider != q.Provider {
		return fmt.Sprintf("the flow landed on queue %d as it should, but its memory is no longer bound", on.ID),
			"keep others from resetting " + q.Dev.Name + ", and look at the kernel's messages (dmesg)"
	}
	h, err := q.Dev.HeaderSplit()
	if err != nil || h.State != nic.SplitOn || h.Threshold > 0 {
		return fmt.Sprintf("the flow landed on queue %d as it should, but headers are no longer split: %v", on.ID, h),
			"keep others from changing the rings of " + q.Dev.Name
	}
	return fmt.Sprintf("the flow landed on queue %d, where the provider is: packets arrived before it was steered, or the driver pulled payload out of the provider's memory", on.ID),
		"look at the driver's counters: ethtool -S " + q.Dev.Name
}
