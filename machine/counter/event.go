// SPDX-License-Identifier: MIT

package counter

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// EventCount is what an event of perf_event_open(2) has counted since it was opened, and for how
// much of the time that it was to count it had a counter of the hardware: where more events want
// one than there are, the kernel gives it to them in turn.
type EventCount struct{ Value, EnabledNs, RunningNs uint64 }

// CountedFor is the read_format of events that [ReadEvent] reads.
const CountedFor = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING

// eventCalls are how events are opened and read; tests have others than the kernel's.
type eventCalls struct {
	open  func(attr *unix.PerfEventAttr, cpu int) (fd int, err error) // whatever runs there
	read  func(fd int) (EventCount, error)
	close func(fd int) error
}

var kernelEvents = eventCalls{read: ReadEvent, close: unix.Close,
	open: func(attr *unix.PerfEventAttr, cpu int) (int, error) {
		return unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}}

// ReadEvent reads an event that was opened.
func ReadEvent(fd int) (c EventCount, err error) {
	var b [24]byte
	n, err := unix.Read(fd, b[:])
	if err == nil && n != len(b) {
		err = fmt.Errorf("%d bytes, not %d", n, len(b))
	}
	return EventCount{binary.NativeEndian.Uint64(b[:]), binary.NativeEndian.Uint64(b[8:]),
		binary.NativeEndian.Uint64(b[16:])}, err
}

// since estimates what the event counted after b, as if it had had a counter all the time, and the
// share of the time that it had one. False: nobody knows, since it never had one, or began anew.
func (a EventCount) since(b EventCount) (grown, share float64, ok bool) {
	if a.Value < b.Value || a.EnabledNs <= b.EnabledNs || a.RunningNs <= b.RunningNs {
		return 0, 0, false
	}
	share = min(float64(a.RunningNs-b.RunningNs)/float64(a.EnabledNs-b.EnabledNs), 1)
	return float64(a.Value-b.Value) / share, share, true
}

// sharedQuality words that events had a counter for only a share of the time; empty: for all of it.
// The two times are not read at once.
func sharedQuality(share float64) string {
	if share > .999 {
		return ""
	}
	return fmt.Sprintf("scaled up: other events used the counter %.0f %% of the time", 100*(1-share))
}
