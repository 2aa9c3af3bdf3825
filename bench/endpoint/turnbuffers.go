// SPDX-License-Identifier: MIT

package endpoint

import (
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// holdBuffers keeps the receive buffers of TCP flows, unless they were chosen, at the size that
// they have at the end of the first turn, before any pause: auto-tuning takes each pause for a
// longer round trip (measured on veth: from 2 to 450 MB within a start), and then a sender fills in
// its turn what its receiver takes long after it, out of memory that no cache holds.
func (t *turnReader) holdBuffers() {
	spec := &t.run.end.spec
	if spec.Role != stream.RX || spec.Cell.RcvBuf > 0 {
		return
	}
	for _, fd := range t.run.end.streams() {
		n, err := sock.HoldReceiveBuffer(fd)
		if err != nil {
			t.unheld = err
			return
		}
		t.buffer = max(t.buffer, n)
	}
}

// warnings says what of turns was not as it should be.
func (t *turnReader) warnings() []string {
	if t == nil || t.unheld == nil {
		return nil
	}
	return []string{"the receive buffer grows from turn to turn, and what waits there is received later: " +
		t.unheld.Error()}
}
