// SPDX-License-Identifier: MIT

package bpf

// Totals are what probes have counted since the beginning.
type Totals struct {
	Stages []StageHist
	Sample int    // [Latency.Sample]
	Missed uint64 // [Probes.Missed]
	Counts []Count
	Calls  []Call
}
