// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
)

// holdBuffers keeps the receive buffers of TCP flows, unless they were chosen, at the size that
// they have at the end of the first turn, before any pause: auto-tuning takes each pause for a
// longer round trip (measured on veth: from 2 to 450 MB within a start), and then a sender fills in
// its turn what its receiver takes long after it, out of memory that no cache holds. Where a turn
// has few round trips the buffer has not reached its size by then, and is left as it is.
func (t *turnReader) holdBuffers() {
	spec := &t.run.end.spec
	if spec.Role != stream.RX || spec.Cell.RcvBuf > 0 {
		return
	}
	all := t.run.end.streams()
	for _, fd := range all {
		info, err := counter.ReadTCPInfo(fd)
		if err == nil {
			err = enoughTrips(info, duration(t.sch.OnNs))
		}
		if err != nil {
			t.unheld = err
			return
		}
	}
	for _, fd := range all {
		n, err := sock.HoldReceiveBuffer(fd)
		if err != nil {
			t.unheld = err
			return
		}
		t.buffer = max(t.buffer, n)
	}
}

// tripsOfTurn are the round trips in which a buffer reaches its size: it doubles in each.
const tripsOfTurn = 20

// enoughTrips returns why a turn has too few of a flow's round trips. What a receiver knows of them
// is from when it was opened, and by how long a window took to come; the latter, in which pauses
// and waiting are, may be much too long (measured on veth: 24 us to 8 ms, of 70 us).
func enoughTrips(info counter.TCPInfo, turn time.Duration) error {
	opened, _ := info.Get("rtt_us")
	came, _ := info.Get("rcv_rtt_us")
	trip := opened
	if opened == 0 || came > 0 && came < opened {
		trip = came
	}
	switch d := time.Duration(trip) * time.Microsecond; {
	case d == 0:
		return fmt.Errorf("its flow's round trip is not known")
	case d*tripsOfTurn > turn:
		return fmt.Errorf("a round trip of %v is too long for a turn of %v, of which it is to be 1/%d: use a longer "+
			"--turn, or choose the buffer (rcvbuf)", d, turn, tripsOfTurn)
	}
	return nil
}

// warnings says what of turns was not as it should be.
func (t *turnReader) warnings() (all []string) {
	if t == nil {
		return nil
	}
	if t.cpu != nil {
		all = t.cpu.Warnings
	}
	if t.unheld != nil {
		all = append(all, "the receive buffer is not held, and may grow from turn to turn; what waits there is "+
			"received later: "+t.unheld.Error())
	}
	return all
}
