// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
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
		{"a queue each", func(t *testing.T) {
			r := measured(t, rx, each...)
			checkFlows(t, r, n, n)
			foretold(t, rx, n, "", r.SUT.Flows)
		}},
		{"one queue", func(t *testing.T) {
			r := measured(t, rx, one...)
			checkFlows(t, r, n, 1)
			foretold(t, rx, n, ", queues: 1", r.SUT.Flows)
		}},
		{"one astray", func(t *testing.T) {
			foretold(t, rx, n, ", control: wrong-queue", nil)
			oneAstray(t, rx, n, each...)
		}},
		{"one of a queue astray", func(t *testing.T) { oneAstray(t, rx, n, one...) }},
	} {
		if long.Wanted() || slices.Contains(short, part.name) {
			t.Run(part.name, func(t *testing.T) { channels(t, n+2, func() { part.run(t) }) })
		}
	}
}

// flowArgs builds the arguments of a run of n flows, whose threads share the guest's two CPUs, and
// that have the pace of one together.
func flowArgs(n int) []string {
	return []string{"--flows", strconv.Itoa(n), "--sut-cpu", "1", "--tg-cpu", "0", "--pace",
		strconv.Itoa(paceMbps/n) + "M"}
}

// oneAstray makes a run of n flows, of which the last is steered away from its queue: it is named,
// and nothing is said against the others. That is seen in whole flows, whenever the window was
// read: a run in which one of the others moved nothing, or that says only that it came too late,
// gets more time.
func oneAstray(t *testing.T, rx string, n int, args ...string) {
	t.Helper()
	for unit := 100 * time.Millisecond; ; unit *= 4 {
		r, status := once(t, rx, unit, append(args, "--control", plan.WrongQueue)...)
		wrong := notAstray(r, status, n)
		if wrong != nil && (isLate(r) || idleFlow.MatchString(r.Reason)) && unit < 5*time.Second {
			continue
		}
		if wrong != nil {
			t.Error(wrong)
		}
		return
	}
}

// idleFlow is of a run in which one of several flows moved nothing from its beginning to its end.
var idleFlow = regexp.MustCompile(`\bflow \d+: no payload was transferred`)

// notAstray explains why a run is not one of n flows of which the last alone went astray; nil: it
// is.
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

// foretold holds what the dry run says of n flows against the queues that they had; nil: the last
// of them is to go astray.
func foretold(t *testing.T, rx string, n int, factors string, flows []results.Flow) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.yaml")
	text := fmt.Sprintf("name: x\nsut: {host: 'netns:%s', cpu: 1}\ntg: {host: 'netns:%s', cpu: 0}\nfactors: {rx: "+
		"%s, tx: tcp, flows: %d%s}\n", RXNS, TXNS, rx, n, factors)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("zcbench", "matrix", "--dry-run", file).CombinedOutput()
	want := fmt.Sprintf("but flow %d to another queue, on purpose (control)\n", n-1)
	if flows != nil {
		want = fmt.Sprintf("rule = an ntuple rule for each of %d flows: %s\n", n, queuesOf(flows))
	}
	if err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: the dry run does not say %q:\n%s", err, want, out)
	}
}

// queuesOf lists the queues by which flows were to come, in the words of the dry run.
func queuesOf(flows []results.Flow) string {
	var each []string
	seen := map[int]bool{}
	for i, f := range flows {
		if f.Queue == nil {
			return "unknown"
		}
		seen[*f.Queue] = true
		each = append(each, fmt.Sprintf("flow %d to queue %d", i, *f.Queue))
	}
	if len(seen) == 1 {
		return fmt.Sprintf("all to queue %d", *flows[0].Queue)
	}
	return strings.Join(each, ", ")
}

// checkFlows holds n flows against what they must be: none of their payload copied, each where it
// belongs, and moved by as many threads as there are queues.
func checkFlows(t *testing.T, r results.Record, n, queues int) {
	t.Helper()
	all := r.SUT.Flows
	if r.SUT.Threads != queues || r.TG.Threads != n {
		t.Errorf("%d threads received, and %d sent, by %d queues", r.SUT.Threads, r.TG.Threads, queues)
	}
	seen := map[int]bool{}
	for n, f := range all {
		if f.Verdict != results.OK || f.ZeroCopyBytes == nil || *f.ZeroCopyBytes == 0 || f.CopiedBytes == nil ||
			*f.CopiedBytes != 0 {
			t.Errorf("flow %d: %s %s: %s bytes without a copy, %s copied", n, f.Verdict, f.Reason,
				count(f.ZeroCopyBytes), count(f.CopiedBytes))
		}
		if f.Queue == nil || f.Landed == nil || *f.Queue != *f.Landed {
			t.Errorf("flow %d: it was to come by queue %s, and came by %s", n, place(f.Queue), place(f.Landed))
			continue
		}
		seen[*f.Queue] = true
	}
	for _, name := range []string{"_zcrx_pieces", "_devmem_frags"} {
		rows := 0
		for _, m := range r.SUT.Metrics {
			if strings.HasPrefix(m.Name, "flow") && strings.HasSuffix(m.Name, name) {
				rows++
			}
		}
		if rows != 0 && rows != queues {
			t.Errorf("flowN%s has %d rows, and there are %d queues, whose flows have it together", name, rows, queues)
		}
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
	channels(t, n+2, func() {
		r := measured(t, rx, append(flowArgs(n), "--tx", tx)...)
		if len(r.TG.Flows) != n || len(r.SUT.Flows) != n || r.SUT.Mismatches == nil || *r.SUT.Mismatches != 0 {
			t.Fatalf("%d flows sent, %d received, mismatches %s", len(r.TG.Flows), len(r.SUT.Flows),
				count(r.SUT.Mismatches))
		}
		for i, f := range r.TG.Flows {
			if f.Verdict != results.OK || f.ZeroCopyBytes == nil || *f.ZeroCopyBytes == 0 || f.CopiedBytes == nil ||
				*f.CopiedBytes != 0 {
				t.Errorf("flow %d: %s %s: it sent %s bytes without a copy, and copied %s", i, f.Verdict, f.Reason,
					count(f.ZeroCopyBytes), count(f.CopiedBytes))
			}
			if f := r.SUT.Flows[i]; f.Verdict != results.OK || f.Bytes == nil || *f.Bytes == 0 {
				t.Errorf("flow %d: %s %s: %s bytes arrived", i, f.Verdict, f.Reason, count(f.Bytes))
			}
		}
	})
}
