// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/pinned"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// The threads of two flows sit on the CPUs that were named for them while they run, one on each or
// both on one where that was asked for; the record says the same, and where their softirq ran: RPS
// chooses among the CPUs of the layout, so that of a flow is any of them, if it was one. (The lab's
// TestFlowLayoutsInLab has CPUs enough for flows that share none.)
func TestIntegrationFlowsOnTheirCPUs(t *testing.T) {
	leaseDir(t)
	pair := newHosts(t)
	may, err := place.AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(may.Pin) < 2 {
		t.Skipf("needs two CPUs, and may use %v", may.Pin)
	}
	a, b := may.Pin[0], may.Pin[1]
	list := fmt.Sprintf("%d,%d", b, a)
	for _, x := range []struct {
		layout  string
		sut, tg string
		threads [2][]int // of the SUT's flows and the TG's
		softirq []int    // of the SUT, in order
	}{
		{layout: "1cpu", sut: list, tg: list, threads: [2][]int{{b, a}, {b, a}}, softirq: []int{a, b}},
		{layout: "2cpu", sut: fmt.Sprint(b), tg: fmt.Sprint(a), threads: [2][]int{{b, b}, {a, a}}, softirq: []int{a}},
	} {
		t.Run(x.layout, func(t *testing.T) {
			args := []string{"run", "--json", "--sut", "netns:" + pair.SUT.Netns.Path(), "--tg",
				"netns:" + pair.TG.Netns.Path(), "--flows", "2", "--layout", x.layout,
				"--sut-cpu", x.sut, "--tg-cpu", x.tg, "--ramp-up", "300ms", "--ramp-down", "100ms", "--pace", "400M",
				"--sndbuf", "256K",
				"--gate", "foreign_cores=off", "--gate", "replace=0"}
			var r results.Record
			longer(t, 800*time.Millisecond, func(d string) (lacking string) {
				p := built.Start(t, "zcbench", append(args, "--duration", d)...)
				seen := seenThreads(t, p, x.threads[:])
				p.Wait(await.Hang)
				r = results.Record{}
				if err := json.Unmarshal(p.Out.Bytes(), &r); err != nil {
					t.Fatalf("%v: %s%s", err, &p.Out, &p.Err)
				}
				// A window that was read late shows where the threads were all the same.
				few := strings.Contains(r.Reason, "too few packets to tell")
				if r.Verdict != results.OK && !few && !heldUp(r.Reason, strings.Join(r.Warnings, " ")) {
					t.Errorf("%s: %s", r.Verdict, r.Reason)
				}
				if !seen {
					return fmt.Sprintf("no two agents had threads on %v while it ran", x.threads)
				}
				if few || !softirqKnown(&r.SUT) && len(x.softirq) == 1 {
					return "too few packets came"
				}
				return ""
			})
			checkCPUs(t, &r.SUT, x.threads[0], x.softirq)
			checkCPUs(t, &r.TG, x.threads[1], nil)
		})
	}
}

// softirqKnown tells whether a record says of each flow where its softirq ran.
func softirqKnown(h *results.Host) bool {
	return !slices.ContainsFunc(h.Flows, func(f results.Flow) bool { return f.SoftirqCPU == nil })
}

// checkCPUs holds the CPUs that a record has of an end's flows against what they must be: those of
// softirq are among some. Nil: these are not looked at.
func checkCPUs(t *testing.T, h *results.Host, threads, softirq []int) {
	t.Helper()
	if len(h.Flows) != len(threads) {
		t.Fatalf("%d flows", len(h.Flows))
	}
	for n, f := range h.Flows {
		if f.CPU == nil || *f.CPU != threads[n] {
			t.Errorf("%s, flow %d: CPU %s, want %d", h.Name, n, onCPU(f.CPU), threads[n])
		}
		known := f.SoftirqCPU != nil
		if softirq != nil && (!known && len(softirq) == 1 || known && !slices.Contains(softirq, *f.SoftirqCPU)) {
			t.Errorf("%s, flow %d: softirq on CPU %s, want one of %v", h.Name, n, onCPU(f.SoftirqCPU), softirq)
		}
	}
}

// onCPU is a CPU, as far as it is known.
func onCPU(cpu *int) string {
	if cpu == nil {
		return "unknown"
	}
	return fmt.Sprint(*cpu)
}

// seenThreads reports whether at one moment of a run one of its agents had threads bound to the
// first list of CPUs and another one to the second, and to no others.
func seenThreads(t *testing.T, p *built.Process, want [][]int) bool {
	t.Helper()
	var last [][]int
	seen := false
	await.Until(t, "the end of the run", func() bool {
		await.Pause("the CPUs are the run's", 10*time.Millisecond)
		var all [][]int
		for _, pid := range agentsOf(t, p) {
			if cpus := pinned.Threads(pid); len(cpus) > 0 {
				all = append(all, cpus)
			}
		}
		if seen = sameLists(all, want); !seen && len(all) > 0 {
			last = all
		}
		return seen || !running(p.Process.Pid)
	})
	if !seen {
		t.Logf("last seen: threads on %v", last)
	}
	return seen
}

// sameLists compares lists of CPUs, in whatever order they are.
func sameLists(a, b [][]int) bool {
	text := func(lists [][]int) (out []string) {
		for _, l := range lists {
			l = slices.Clone(l)
			slices.Sort(l)
			out = append(out, fmt.Sprint(l))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(text(a), text(b))
}
