// SPDX-License-Identifier: MIT

package end

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
)

// bytesAddUp: something flowed, and the receiver got what the sender sent.
func bytesAddUp(e *Evidence, f *Flow) (reason, fix string) {
	if e.Role == stream.RX && e.Path.SortsBytes() && f.Taken != f.Counted.Bytes {
		return fmt.Sprintf("the path took %d bytes, but reports for %d whether they were copied", f.Taken,
				f.Counted.Bytes),
			"this is a bug of the data path: please report it"
	}
	if f.Counted.Bytes == 0 {
		return "no payload was transferred", "check the other end's message"
	}
	if p := f.Peer; p != nil && p.Bytes != f.Counted.Bytes && !e.Path.Kind.Packets() {
		return fmt.Sprintf("byte counts differ: %d sent, %d received", f.Counted.Bytes, p.Bytes),
			"this is a bug of the data path, or of the kernel: please report it"
	}
	return "", ""
}

// payloadIsRight: verified payload was right.
func payloadIsRight(e *Evidence, f *Flow) (reason, fix string) {
	if reason, fix = tripsAddUp(e, f); reason != "" {
		return reason, fix
	}
	const how = "memory was overwritten or misplaced on the way: repeat with --rx tcp to see whether it is the " +
		"network or the mode"
	if f.Counted.Mismatches > 0 {
		return fmt.Sprintf("%d payload bytes are wrong, the first at flow position %d", f.Counted.Mismatches,
			f.Counted.FirstMismatch-1), how
	}
	if p := f.Peer; p != nil && p.Mismatches > 0 {
		return fmt.Sprintf("the receiver found %d wrong payload bytes", p.Mismatches), how
	}
	return "", ""
}

// tripsAddUp: every request was answered, and every answer was its request's.
func tripsAddUp(e *Evidence, f *Flow) (reason, fix string) {
	switch {
	case !f.Trips:
	case e.Path.Kind.Packets():
		return packetTripsAddUp(f)
	case f.Asks && f.Counted.Mismatches > 0:
		return fmt.Sprintf("%d bytes of answers do not match their requests, the first in answer %d: one was "+
				"lost, duplicated or overwritten", f.Counted.Mismatches,
				(f.Counted.FirstMismatch-1)/uint64(f.AnswerBytes)),
			"repeat with --rx tcp to see whether it is the network or the mode"
	case f.Counted.Transactions*f.RequestBytes != f.Counted.Bytes:
		return fmt.Sprintf("%d bytes of requests, %d bytes each, but %d answers", f.Counted.Bytes, f.RequestBytes,
				f.Counted.Transactions),
			"this is a bug of the data path: please report it"
	}
	return "", ""
}

// packetTripsAddUp: every request has ended, answered or given up, and nothing was answered that
// did not come.
func packetTripsAddUp(f *Flow) (reason, fix string) {
	const how = "this is a bug of the data path: please report it"
	switch {
	case f.Asks && f.Counted.Transactions+f.Counted.TripsLost != f.Counted.Packets:
		return fmt.Sprintf("%d requests, of which %d were answered and %d given up", f.Counted.Packets,
			f.Counted.Transactions,
			f.Counted.TripsLost), how
	case !f.Asks && f.Counted.Transactions > f.Counted.Packets:
		return fmt.Sprintf("%d requests came, and %d answers went", f.Counted.Packets, f.Counted.Transactions), how
	}
	return "", ""
}

// packetsAreRight: all packets that came were as they were sent.
func packetsAreRight(_ *Evidence, f *Flow) (reason, fix string) {
	if f.Counted.Corrupted == 0 {
		return "", ""
	}
	return fmt.Sprintf("%d packets differ from what was sent: wrong length, tag or sequence number",
			f.Counted.Corrupted),
		"something changed them on the way, or another host sends with the sender's address: look at checksum " +
			"errors (nstat -az UdpInCsumErrors), NIC and cables"
}

// moved: each of several flows brought something in the window.
func moved(e *Evidence, f *Flow) (reason, fix string) {
	if len(e.Flows) == 1 || e.Window.Bytes == 0 || f.Moved {
		return "", ""
	}
	// of a warm-up, or one that was chosen
	if err := e.Cell.CheckRequests(time.Duration(e.To - e.From)); err != nil {
		return "none of its requests was due in the window", err.Error()
	}
	return "no payload was transferred in the window, while other flows moved",
		"its thread, queue or CPU had no time for it: give each flow its own CPU, or use fewer flows"
}
