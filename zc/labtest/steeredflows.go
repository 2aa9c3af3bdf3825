// SPDX-License-Identifier: MIT

package labtest

import (
	"strconv"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// SteeredFlows runs zcbench with three flows (two where not much is asked for) of a receive mode
// that takes no queue over, which are steered to two queues in turn: each comes by the one that it
// was to come by, every byte of it arrives, and the device is as it was afterwards.
func SteeredFlows(t *testing.T, rx string) { steeredFlows(t, rx) }

func steeredFlows(t *testing.T, rx string) []results.Flow {
	t.Helper()
	Need(t)
	// Flows that ask for more than a busy machine emulates lose packets, and one of them may then
	// be silent for seconds, or not be through at the end.
	flows := long.Rounds(2, 3)
	more := append(flowArgs(flows), "--pace", strconv.Itoa(10*(flows-1))+"M", "--queues", "2", "--queue", "2")
	if rx == "tcp-mmap" { // a slow sender's writes end inside pages, and what part of a page came is copied
		more = append(more, "--max-copied", "100")
	}
	h := measured(t, rx, more...).SUT
	if len(h.Flows) != flows || h.Mismatches == nil || *h.Mismatches != 0 {
		t.Fatalf("%d flows, mismatches %v", len(h.Flows), h.Mismatches)
	}
	for n, f := range h.Flows {
		if want := 2 + n%2; f.Queue == nil || *f.Queue != want || f.Landed == nil || *f.Landed != want {
			t.Errorf("flow %d: queue %s, landed on %s, want %d", n, place(f.Queue), place(f.Landed), want)
		}
		if f.Verdict != results.OK || f.Bytes == nil || *f.Bytes == 0 {
			t.Errorf("flow %d: %s %s: %s bytes", n, f.Verdict, f.Reason, count(f.Bytes))
		}
	}
	for name, want := range map[string]float64{"flow0_steered_share": 1,
		measure.FlowMetric(flows-1, "steered_share"): 1} {
		if got := metric(h, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	return h.Flows
}

// CopiedFlows tests the same as [SteeredFlows], of a mode that counts every byte as copied.
func CopiedFlows(t *testing.T, rx string) {
	for n, f := range steeredFlows(t, rx) {
		if f.ZeroCopyBytes == nil || *f.ZeroCopyBytes != 0 || f.CopiedBytes == nil || *f.CopiedBytes == 0 ||
			*f.CopiedBytes > *f.Bytes {
			t.Errorf("flow %d: %s bytes, %s without a copy, %s copied", n, count(f.Bytes), count(f.ZeroCopyBytes),
				count(f.CopiedBytes))
		}
	}
}

// place formats a queue, which may be unknown.
func place(queue *int) string {
	if queue == nil {
		return "unknown"
	}
	return strconv.Itoa(*queue)
}
