// SPDX-License-Identifier: MIT

package labtest

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
)

// RunFlows runs zcbench with several flows of a receive mode: by a queue each, by one for all, and
// with one of them steered wrongly, which makes the run invalid and is named. The short run has
// those of the three that are named.
func RunFlows(t *testing.T, rx string, short ...string) {
	Need(t)
	cpus := []string{"--flows", "2", "--sut-cpu", "1", "--tg-cpu", "0"} // which they share: the guest has two
	part := func(name string, of func(t *testing.T)) {
		if long.Wanted() || slices.Contains(short, name) {
			t.Run(name, of)
		}
	}
	part("a queue each", func(t *testing.T) { checkFlows(t, measured(t, rx, cpus...), 2) })
	part("one queue", func(t *testing.T) { checkFlows(t, measured(t, rx, append(cpus, "--queues", "1")...), 1) })
	part("one astray", func(t *testing.T) {
		f := invalid(t, rx, "flow 1: the kernel copied 100.0 %", append(cpus, "--control", results.WrongQueue)...).SUT.Flows
		if len(f) != 2 || f[0].Verdict != results.OK || f[1].Verdict != results.Invalid {
			t.Errorf("%+v", f)
		}
	})
}

// checkFlows holds two flows against what they must be: none of their payload copied, each where it
// belongs, and moved by as many threads as there are queues.
func checkFlows(t *testing.T, r results.Record, queues int) {
	t.Helper()
	all := r.SUT.Flows
	if r.SUT.Threads != queues || r.TG.Threads != 2 {
		t.Errorf("%d threads received, and %d sent, by %d queues", r.SUT.Threads, r.TG.Threads, queues)
	}
	seen := map[int]bool{}
	for n, f := range all {
		if f.Verdict != results.OK || f.ZeroCopyBytes == nil || *f.ZeroCopyBytes == 0 || f.CopiedBytes == nil || *f.CopiedBytes != 0 {
			t.Errorf("flow %d: %s %s: %s bytes without a copy, %s copied", n, f.Verdict, f.Reason, count(f.ZeroCopyBytes), count(f.CopiedBytes))
		}
		if f.Queue == nil || f.Landed == nil || *f.Queue != *f.Landed {
			t.Errorf("flow %d: it was to come by queue %v, and came by %v", n, f.Queue, f.Landed)
			continue
		}
		seen[*f.Queue] = true
	}
	if len(all) != 2 || len(seen) != queues {
		t.Errorf("%d flows by queues %v: want two by %d", len(all), seen, queues)
	}
}
