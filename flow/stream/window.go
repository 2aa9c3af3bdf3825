// SPDX-License-Identifier: MIT

package stream

// Sub returns what was counted since an earlier snapshot b of the same flow.
// FirstMismatch stays a position.
func (c Counters) Sub(b Counters) Counters {
	return Counters{
		Bytes: c.Bytes - b.Bytes, Calls: c.Calls - b.Calls, Waits: c.Waits - b.Waits,
		ZeroCopyBytes: c.ZeroCopyBytes - b.ZeroCopyBytes, CopiedBytes: c.CopiedBytes - b.CopiedBytes, LinearBytes: c.LinearBytes - b.LinearBytes,
		Mismatches: c.Mismatches - b.Mismatches, FirstMismatch: c.FirstMismatch,
		Completions: c.Completions - b.Completions, CopiedCompletions: c.CopiedCompletions - b.CopiedCompletions,
		Rearms: c.Rearms - b.Rearms, Overflows: c.Overflows - b.Overflows,
	}
}
