// SPDX-License-Identifier: MIT

package stream

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Flow is one flow of payload. A run has one or several; both ends know each by its number.
// Which thread moves it, and by which path, is up to who plays it (bench/endpoint).
type Flow struct {
	N     int   // its number, from 0
	CPU   int   // of the thread that moves it; -1: not pinned
	Queue *int  // RX queue of its own; nil: its path chooses, or takes none
	Conn  *Conn // nil until it is open
	Meter Meter

	endNs int64
}

// End notes that the flow's sender has ended it, now: for a path that moves several flows, and goes
// on with the others ([Group]).
func (f *Flow) End() {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail on Linux
	atomic.StoreInt64(&f.endNs, t.Nano())
}

// EndedAt notes that the sender had ended the flow at a time of CLOCK_MONOTONIC, as a process says
// that moves it.
func (f *Flow) EndedAt(ns int64) { atomic.StoreInt64(&f.endNs, ns) }

// EndNs returns when End was called, CLOCK_MONOTONIC in nanoseconds; 0: it was not. Any thread may
// ask.
func (f *Flow) EndNs() int64 { return atomic.LoadInt64(&f.endNs) }

// MaxFlows is how many flows a run may have.
const MaxFlows = 1 << 10
