// SPDX-License-Identifier: MIT

package counter

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// EventCount is what an event of perf_event_open(2) has counted since it was opened, and for how
// much of the time that it was to count it had a counter of the hardware: where more events want
// one than there are, the kernel gives it to them in turn.
type EventCount struct{ Value, EnabledNs, RunningNs uint64 }

// CountedFor is the read_format of events that [ReadEvent] reads.
const CountedFor = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING

// EventCounts are what events have counted, by their names: of each CPU, controller or domain.
type EventCounts map[string][]EventCount

// countedTogether is the read_format of events that readGroup reads.
const countedTogether = CountedFor | unix.PERF_FORMAT_GROUP

// mostTogether bounds the events of a group.
const mostTogether = 4

// eventCalls are how events are opened and read; tests have others than the kernel's.
type eventCalls struct {
	// open opens an event of whatever runs on a CPU, in the group of another one; -1: in its own.
	open  func(attr *unix.PerfEventAttr, cpu, leader int) (fd int, err error)
	read  func(fd int) (EventCount, error)
	group func(fd int, counts []EventCount) error // of a leader: its own count, then the others'
	close func(fd int) error
}

var kernelEvents = eventCalls{read: ReadEvent, group: readGroup, close: unix.Close,
	open: func(attr *unix.PerfEventAttr, cpu, leader int) (int, error) {
		return unix.PerfEventOpen(attr, -1, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
	}}

// readGroup reads all events of a group at once: they had counters at the same time.
func readGroup(fd int, counts []EventCount) error {
	var b [24 + 8*mostTogether]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return err
	}
	return parseGroup(b[:n], counts)
}

// parseGroup reads what the kernel writes of a group: how many they are, both times, the counts
// (kernel/events/core.c: perf_read_group).
func parseGroup(b []byte, counts []EventCount) error {
	u64 := binary.NativeEndian.Uint64
	if len(b) != 24+8*len(counts) || u64(b) != uint64(len(counts)) {
		return fmt.Errorf("%d bytes of a group of %d events", len(b), len(counts))
	}
	for i := range counts {
		counts[i] = EventCount{u64(b[24+8*i:]), u64(b[8:]), u64(b[16:])}
	}
	return nil
}

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

// add adds what an event counted between two readings. An event that began anew is no longer known:
// false.
func (c *EventCount) add(b, a EventCount) bool {
	if a.Value < b.Value || a.EnabledNs < b.EnabledNs || a.RunningNs < b.RunningNs {
		return false
	}
	c.Value, c.EnabledNs, c.RunningNs = c.Value+a.Value-b.Value, c.EnabledNs+a.EnabledNs-b.EnabledNs,
		c.RunningNs+a.RunningNs-b.RunningNs
	return true
}

// eventSum adds up what events counted in several windows: of one that had a counter for a part of
// all their time, that is scaled up as a whole.
type eventSum struct {
	windows int
	counts  EventCounts
	added   map[string]int // in how many windows an event counted on; of those that were read at all
}

// add adds a window.
func (s *eventSum) add(before, after EventCounts) {
	if s.counts == nil {
		s.counts, s.added = EventCounts{}, map[string]int{}
	}
	s.windows++
	for name := range before {
		s.added[name] += 0
	}
	for name, a := range after {
		s.added[name] += 0
		b := before[name]
		if s.counts[name] == nil {
			s.counts[name] = make([]EventCount, len(a))
		}
		sum := s.counts[name]
		if len(b) != len(a) || len(sum) != len(a) {
			continue
		}
		whole := 1
		for i := range a {
			if !sum[i].add(b[i], a[i]) {
				whole = 0
			}
		}
		s.added[name] += whole
	}
}

// between returns readings between which that was counted, and what is not known: of an event that
// began anew in a window, or was not read there, the sum would be too little.
func (s *eventSum) between() (from, to EventCounts, broken []string) {
	if len(s.added) == 0 {
		return nil, nil, nil
	}
	from, to = EventCounts{}, EventCounts{}
	for _, name := range slices.Sorted(maps.Keys(s.added)) {
		if c := s.counts[name]; s.added[name] == s.windows {
			from[name], to[name] = make([]EventCount, len(c)), c
		} else {
			broken = append(broken, name)
		}
	}
	return from, to, broken
}

// sumOf adds up by how much an event's parts grew, each count worth as much as per says (nil: 1),
// and returns the least share of the time that one had a counter. False: of one that is not known,
// and some alone are no sum.
func sumOf(b, a []EventCount, per []float64) (sum, least float64, ok bool) {
	least, ok = 1, len(a) > 0 && len(a) == len(b) && (per == nil || len(per) == len(a))
	for i := 0; ok && i < len(a); i++ {
		var grown, share float64
		if grown, share, ok = a[i].since(b[i]); per != nil {
			grown *= per[i]
		}
		sum, least = sum+grown, min(least, share)
	}
	return sum, least, ok
}

// sharedQuality words that events had a counter for only a share of the time; empty: for all of it.
// The two times are not read at once.
func sharedQuality(share float64) string {
	if share > .999 {
		return ""
	}
	return fmt.Sprintf("scaled up: other events used the counter %.0f %% of the time", 100*(1-share))
}
