// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// keepFree keeps other flows off the queue, and off those that are beside it. A NIC without an RSS
// table cannot: gve has none where the device does not offer it (gve_get_rxfh of gve_ethtool.c,
// Linux 7.2; before 6.15 with DQO too). The flow is steered there all the same.
func (q *Queue) keepFree(beside []int) error {
	err := q.changes.KeepFree(q.Dev, append([]int{q.ID}, beside...)...)
	if err == nil {
		return nil
	}
	if _, none := q.Dev.Indirection(); noTable(err, none) {
		q.unfenced = true
		return nil
	}
	return Unsupported(q.mode, err)
}

// noTable reports whether an error is that there is no RSS table, given that of reading it.
func noTable(err, reading error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) && errors.Is(reading, unix.EOPNOTSUPP)
}

// Notes returns what readers of a flow's figures should know of its queue.
func (q *Queue) Notes() []string {
	if !q.unfenced {
		return nil
	}
	return []string{unfenced(q.Dev.Name, q.ID, q.bound)}
}

// unfenced explains what follows where a queue cannot be kept free of other flows; bound: its
// memory is not the driver's.
func unfenced(dev string, queue int, bound bool) string {
	s := fmt.Sprintf(
		"RX queue %d was not kept free of other flows: %s has no RSS table; counters of the queue may be of others",
		queue, dev)
	if bound {
		s += ", and so may be buffers, so that payload copied from packets' linear part may go unnoticed; who " +
			"receives from others by this queue cannot read it (EFAULT)"
	}
	return s
}
