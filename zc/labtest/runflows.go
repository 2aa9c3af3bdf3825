// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
)

// RunFlows runs zcbench with four flows (two in the short run) of a receive mode: by a queue each,
// by one for all, and with the last of them steered wrongly, which makes the run invalid and is
// named, also where it shares its queue with the others. The short run has those that are named.
func RunFlows(t *testing.T, rx string, short ...string) {
	Need(t)
	n := long.Rounds(2, 4)
	one, each := append(flowArgs(n), "--queues", "1"), append(flowArgs(n), "--queues", strconv.Itoa(n))
	for _, part := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"a queue each", func(t *testing.T) { checkFlows(t, measured(t, rx, each...).SUT.Flows, n, n) }},
		{"one queue", func(t *testing.T) { checkFlows(t, measured(t, rx, one...).SUT.Flows, n, 1) }},
		{"one astray", func(t *testing.T) { oneAstray(t, rx, n, each...) }},
		{"one of a queue astray", func(t *testing.T) { oneAstray(t, rx, n, one...) }},
	} {
		if long.Wanted() || slices.Contains(short, part.name) {
			t.Run(part.name, func(t *testing.T) { Channels(t, n+2, func() { part.run(t) }) })
		}
	}
}

// flowArgs are the arguments of a run of so many flows, whose threads share the guest's two CPUs.
func flowArgs(n int) []string {
	return []string{"--flows", strconv.Itoa(n), "--sut-cpu", "1", "--tg-cpu", "0"}
}

// oneAstray makes a run of n flows, of which the last is steered away from its queue: it is named,
// and nothing is said against the others. That is seen in whole flows, whenever the window was
// read: a run in which one of the others moved nothing, or that says only that it came too late,
// gets more time. At full speed several flows leave a busy machine that emulates no time for
// anything else.
func oneAstray(t *testing.T, rx string, n int, args ...string) {
	t.Helper()
	for unit := 100 * time.Millisecond; ; unit *= 4 {
		r, status := once(t, rx, unit, append(args, "--control", results.WrongQueue, "--pace", pace)...)
		wrong := notAstray(r, status, n)
		if wrong != nil && isLate(r) && unit < time.Second {
			continue
		}
		if wrong != nil {
			t.Error(wrong)
		}
		return
	}
}

// notAstray says why a run is not one of n flows of which the last alone went astray; nil: it is.
func notAstray(r results.Record, status, n int) error {
	why := fmt.Sprintf("flow %d: the kernel copied 100.0 %%", n-1)
	if r.Verdict != results.Invalid || !strings.Contains(r.Reason, why) || r.Fix == "" || status != 1 {
		return fmt.Errorf("%s, status %d: %s; fix: %s; want %q", r.Verdict, status, r.Reason, r.Fix, why)
	}
	if len(r.SUT.Flows) != n {
		return fmt.Errorf("%d flows, want %d", len(r.SUT.Flows), n)
	}
	for i, f := range r.SUT.Flows {
		want := results.OK
		if i == n-1 {
			want = results.Invalid
		}
		if f.Verdict != want {
			return fmt.Errorf("flow %d: %s %s; want %s", i, f.Verdict, f.Reason, want)
		}
	}
	return nil
}

// checkFlows holds n flows against what they must be: none of their payload copied, and each
// where it belongs.
func checkFlows(t *testing.T, all []results.Flow, n, queues int) {
	t.Helper()
	seen := map[int]bool{}
	for n, f := range all {
		if f.Verdict != results.OK || f.ZeroCopyBytes == nil || *f.ZeroCopyBytes == 0 || f.CopiedBytes == nil || *f.CopiedBytes != 0 {
			t.Errorf("flow %d: %s %s: %s bytes without a copy, %s copied", n, f.Verdict, f.Reason, count(f.ZeroCopyBytes), count(f.CopiedBytes))
		}
		if f.Queue == nil || f.Landed == nil || *f.Queue != *f.Landed {
			t.Errorf("flow %d: it was to come by queue %s, and came by %s", n, place(f.Queue), place(f.Landed))
			continue
		}
		seen[*f.Queue] = true
	}
	if len(all) != n || len(seen) != queues {
		t.Errorf("%d flows by queues %v: want %d by %d", len(all), seen, n, queues)
	}
}

// SentFlows runs zcbench with several flows of a send mode that copies nothing: each sends without
// a copy, by itself, and all that it sent arrives.
func SentFlows(t *testing.T, rx, tx string) {
	Need(t)
	n := long.Rounds(2, 4)
	Channels(t, n+2, func() {
		r := measured(t, rx, append(flowArgs(n), "--tx", tx, "--pace", "40M")...)
		if len(r.TG.Flows) != n || len(r.SUT.Flows) != n || r.SUT.Mismatches == nil || *r.SUT.Mismatches != 0 {
			t.Fatalf("%d flows sent, %d received, mismatches %s", len(r.TG.Flows), len(r.SUT.Flows), count(r.SUT.Mismatches))
		}
		for i, f := range r.TG.Flows {
			if f.Verdict != results.OK || f.ZeroCopyBytes == nil || *f.ZeroCopyBytes == 0 || f.CopiedBytes == nil || *f.CopiedBytes != 0 {
				t.Errorf("flow %d: %s %s: it sent %s bytes without a copy, and copied %s", i, f.Verdict, f.Reason, count(f.ZeroCopyBytes), count(f.CopiedBytes))
			}
			if f := r.SUT.Flows[i]; f.Verdict != results.OK || f.Bytes == nil || *f.Bytes == 0 {
				t.Errorf("flow %d: %s %s: %s bytes arrived", i, f.Verdict, f.Reason, count(f.Bytes))
			}
		}
	})
}
