// SPDX-License-Identifier: MIT

package uring

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/tape"
)

// In a record (package tape) are whether a ring could be had, and what the kernel said to each
// registration of a queue.

const askedRing = "io_uring_setup"

// replayedRing makes a ring for which a record answers.
func replayedRing() (*Ring, error) {
	if err := tape.Note(askedRing, nil); err != nil {
		return nil, err
	}
	return &Ring{closed: true, replayed: true}, nil
}

// asked formats a registration as a record names it.
func (o ZcrxOptions) asked() string {
	return fmt.Sprintf(
		"io_uring_register zcrx: interface %d, queue %d, %d bytes (dmabuf %v), buffers of %d, refill ring of %d",
		o.IfIndex, o.Queue, o.Area.size(), o.Area.DMABuf, o.BufLen, o.RefillEntries)
}
