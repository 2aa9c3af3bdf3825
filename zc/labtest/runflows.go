// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	part("a queue each", func(t *testing.T) {
		r := measured(t, rx, cpus...)
		checkFlows(t, r, 2)
		foretold(t, rx, "", r.SUT.Flows)
	})
	part("one queue", func(t *testing.T) {
		r := measured(t, rx, append(cpus, "--queues", "1")...)
		checkFlows(t, r, 1)
		foretold(t, rx, ", queues: 1", r.SUT.Flows)
	})
	part("one astray", func(t *testing.T) {
		foretold(t, rx, ", control: wrong-queue", nil)
		f := invalid(t, rx, "flow 1: the kernel copied 100.0 %", append(cpus, "--control", results.WrongQueue)...).SUT.Flows
		if len(f) != 2 || f[0].Verdict != results.OK || f[1].Verdict != results.Invalid {
			t.Errorf("%+v", f)
		}
	})
}

// foretold holds what the dry run says of two flows against the queues that they had; nil: one of
// them is to go astray.
func foretold(t *testing.T, rx, factors string, flows []results.Flow) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.yaml")
	text := fmt.Sprintf("name: x\nsut: {host: 'netns:%s', cpu: 1}\ntg: {host: 'netns:%s', cpu: 0}\nfactors: {rx: %s, tx: tcp, flows: 2%s}\n", RXNS, TXNS, rx, factors)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("zcbench", "matrix", "--dry-run", file).CombinedOutput()
	want := "but flow 1 to another queue, on purpose (control)\n"
	switch {
	case len(flows) < 2 || flows[0].Queue == nil || flows[1].Queue == nil:
	case *flows[0].Queue == *flows[1].Queue:
		want = fmt.Sprintf("rule = an ntuple rule for each of 2 flows: all to queue %d\n", *flows[0].Queue)
	default:
		want = fmt.Sprintf("rule = an ntuple rule for each of 2 flows: flow 0 to queue %d, flow 1 to queue %d\n", *flows[0].Queue, *flows[1].Queue)
	}
	if err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: the dry run does not say %q:\n%s", err, want, out)
	}
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
