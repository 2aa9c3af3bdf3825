// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/pinned"
	"github.com/zcbench/zcbench/results"
)

// flowLayoutCPUs are as many as two flows need that share none: two threads of the sender, two of
// the receiver, and two for its softirq.
const flowLayoutCPUs = 6

// FlowLayouts runs zcbench with two flows of a receive mode, by a queue each and by one for both,
// in both layouts, on a machine with CPUs enough: each thread sits on the CPU that the record names
// while it runs, and no CPU serves two of them, nor the softirq of one and the thread of another.
func FlowLayouts(t *testing.T, rx string) {
	Need(t)
	if n := runtime.NumCPU(); n < flowLayoutCPUs {
		t.Fatalf("this guest has %d CPUs, and must have %d: mk/lane.sh has the command", n, flowLayoutCPUs)
	}
	for _, layout := range []string{"1cpu", "2cpu"} {
		for _, queues := range []int{2, 1} {
			t.Run(fmt.Sprintf("%s, queues %d", layout, queues), func(t *testing.T) {
				threads := watchThreads()
				r := measured(t, rx, "--flows", "2", "--pace", strconv.Itoa(paceMbps/2)+"M", "--queues",
					strconv.Itoa(queues), "--layout", layout)
				seen := threads()
				checkFlows(t, r, 2, queues)
				sut, tg := flowCPUs(t, r.SUT.Flows, queues), flowCPUs(t, r.TG.Flows, 2)
				if len(sut.unknown) > 0 {
					t.Errorf("the softirq of the SUT's flows %v is not on record", sut.unknown)
				}
				for _, want := range [][]int{sut.threads, tg.threads} {
					if !slices.Contains(seen, fmt.Sprint(want)) {
						t.Errorf("no process had threads on %v alone while it ran; seen: %v", want, seen)
					}
				}
				checkApart(t, layout, sut, tg)
				if share := metric(r.SUT, "placement_flow_share"); share < .95 {
					t.Errorf("%v of the looks found the flows' softirq where the layout wants it", share)
				}
			})
		}
	}
}

// cpusOf are the CPUs of an end's flows, each once, in order, and the flows of which it is not
// known where their softirq ran.
type cpusOf struct{ threads, softirq, unknown []int }

// flowCPUs collects the CPUs that a record names, which must be those of so many threads.
func flowCPUs(t *testing.T, all []results.Flow, threads int) (c cpusOf) {
	t.Helper()
	for n, f := range all {
		if f.CPU == nil {
			t.Fatalf("flow %d: its CPU is not on record: %+v", n, f)
		}
		if c.threads = append(c.threads, *f.CPU); f.SoftirqCPU == nil {
			c.unknown = append(c.unknown, n)
			continue
		}
		c.softirq = append(c.softirq, *f.SoftirqCPU)
	}
	for _, list := range []*[]int{&c.threads, &c.softirq} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if len(c.threads) != threads {
		t.Errorf("%d threads on CPUs %v", threads, c.threads)
	}
	return c
}

// checkApart sees that no CPU is shared: each softirq has its own, or under 1cpu its thread's. The
// sender's acknowledgements come by queues that nobody chose, and so to the CPU of any thread.
func checkApart(t *testing.T, layout string, sut, tg cpusOf) {
	t.Helper()
	used := slices.Concat(sut.threads, tg.threads)
	if layout == "2cpu" {
		used = append(used, sut.softirq...)
	} else if !slices.Equal(sut.threads, sut.softirq) {
		t.Errorf("threads on CPUs %v, their softirq on %v", sut.threads, sut.softirq)
	}
	if len(sut.softirq) != len(sut.threads) ||
		slices.ContainsFunc(tg.softirq, func(n int) bool { return !slices.Contains(tg.threads, n) }) {
		t.Errorf("SUT %+v, TG %+v", sut, tg)
	}
	slices.Sort(used)
	if n := len(used); len(slices.Compact(used)) != n {
		t.Errorf("SUT %+v, TG %+v share CPUs", sut, tg)
	}
}

// watchThreads looks at the threads of the processes that this one's children have started, as
// zcbench does agents, until it is told to stop: it returns what lists of CPUs any of them had
// threads bound to.
func watchThreads() (stop func() []string) {
	quit, seen := make(chan struct{}), make(chan []string, 1)
	go func() {
		var all []string
		for {
			select {
			case <-quit:
				seen <- all
				return
			default:
			}
			await.Pause("one look in many is enough: the threads are bound for as long as the run lasts",
				50*time.Millisecond)
			for _, child := range pinned.Children(os.Getpid()) {
				for _, agent := range pinned.Children(child) {
					if cpus := fmt.Sprint(pinned.Threads(agent)); cpus != "[]" && !slices.Contains(all, cpus) {
						all = append(all, cpus)
					}
				}
			}
		}
	}()
	return func() []string { close(quit); return <-seen }
}
