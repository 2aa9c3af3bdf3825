// SPDX-License-Identifier: MIT

package stream

import "sync/atomic"

// Counters is a snapshot of what a data path has done since the flow began.
type Counters struct {
	Bytes uint64 `json:"bytes"` // payload bytes handed to the application, or accepted from it by the kernel
	Calls uint64 `json:"calls"` // system calls on the data path, waits included
	Waits uint64 `json:"waits"` // of those, calls that could sleep

	// ZeroCopyBytes, CopiedBytes and LinearBytes say where payload went, by the
	// kernel's own evidence. A mode that has no such evidence leaves all zero
	// and says so with Evidence in its [Mode].
	ZeroCopyBytes uint64 `json:"zero_copy_bytes"`
	CopiedBytes   uint64 `json:"copied_bytes"`
	LinearBytes   uint64 `json:"linear_bytes"` // in the packet's linear part: copied too, counted where [Evidence] says so

	// Mismatches counts payload bytes that differ from the pattern (touch
	// verify); FirstMismatch is the flow position of the first, plus one.
	Mismatches    uint64 `json:"mismatches"`
	FirstMismatch uint64 `json:"first_mismatch"`

	Completions       uint64 `json:"completions"`        // zero-copy notifications or CQEs seen
	CopiedCompletions uint64 `json:"copied_completions"` // of those, how many said that the kernel copied
	Rearms            uint64 `json:"rearms"`             // multishot requests issued again
	Overflows         uint64 `json:"overflows"`          // CQ overflows and -ENOBUFS/-ENOSPC ends
}

// Meter is the live form of [Counters]. The data-path thread is the only
// writer; anybody may read. Adding costs a plain load and one store.
type Meter struct {
	_ [64]byte // keep the writer's lines apart from whatever lies beside

	bytes, calls, waits            atomic.Uint64
	zeroCopy, copied, linear       atomic.Uint64
	mismatches, firstMismatch      atomic.Uint64
	completions, copiedCompletions atomic.Uint64
	rearms, overflows              atomic.Uint64
	_                              [64]byte
}

// bump adds n without a locked read-modify-write: there is one writer.
func bump(c *atomic.Uint64, n uint64) { c.Store(c.Load() + n) }

// Bytes counts n payload bytes.
func (m *Meter) Bytes(n int) { bump(&m.bytes, uint64(n)) }

// Call counts one system call that does not sleep.
func (m *Meter) Call() { bump(&m.calls, 1) }

// Wait counts one system call that may sleep.
func (m *Meter) Wait() { bump(&m.calls, 1); bump(&m.waits, 1) }

// ZeroCopy counts n bytes that the kernel says were not copied.
func (m *Meter) ZeroCopy(n uint64) { bump(&m.zeroCopy, n) }

// Copied counts n bytes that the kernel says were copied.
func (m *Meter) Copied(n uint64) { bump(&m.copied, n) }

// Linear counts n bytes that came in a packet's linear part.
func (m *Meter) Linear(n uint64) { bump(&m.linear, n) }

// Completion counts n zero-copy notifications, copied ones apart.
func (m *Meter) Completion(n uint64, copied bool) {
	bump(&m.completions, n)
	if copied {
		bump(&m.copiedCompletions, n)
	}
}

// Rearm counts a multishot request issued again.
func (m *Meter) Rearm() { bump(&m.rearms, 1) }

// Overflow counts a request ended by a full queue or for want of buffers.
func (m *Meter) Overflow() { bump(&m.overflows, 1) }

// Mismatch counts n differing payload bytes, the first at flow position pos.
func (m *Meter) Mismatch(pos uint64, n int) {
	if m.firstMismatch.Load() == 0 {
		m.firstMismatch.Store(pos + 1)
	}
	bump(&m.mismatches, uint64(n))
}

// Snapshot reads all counters. Fields are read one after another, so two of
// them may lie one call apart.
func (m *Meter) Snapshot() Counters {
	return Counters{
		Bytes: m.bytes.Load(), Calls: m.calls.Load(), Waits: m.waits.Load(),
		ZeroCopyBytes: m.zeroCopy.Load(), CopiedBytes: m.copied.Load(), LinearBytes: m.linear.Load(),
		Mismatches: m.mismatches.Load(), FirstMismatch: m.firstMismatch.Load(),
		Completions: m.completions.Load(), CopiedCompletions: m.copiedCompletions.Load(),
		Rearms: m.rearms.Load(), Overflows: m.overflows.Load(),
	}
}
