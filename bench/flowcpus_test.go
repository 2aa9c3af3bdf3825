// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Each of several flows has CPUs of its own, unless the user named fewer, or one thread moves all
// of a queue; a queue's softirq has one; and on one machine the two ends have different ones.
func TestAllot(t *testing.T) {
	near := []int{0, 1, 2, 3, 4, 5, 6, 7}
	plain := Options{may: [2][]int{near, near}, SUTFlows: []place.CPUs{{App: 7, Softirq: 6}},
		TGFlows: []place.CPUs{{App: 0, Softirq: 0}}}
	with := func(change func(*Options)) Options {
		o := plain
		o.SUTFlows, o.TGFlows = slices.Clone(plain.SUTFlows), slices.Clone(plain.TGFlows)
		change(&o)
		return o
	}
	named := with(func(o *Options) { o.nameCPUs([]int{5, 4}, []int{-1}) })
	many := with(func(o *Options) { o.nameCPUs([]int{2, 3, 4, 5}, nil) }) // for other cells of the plan
	few := with(func(o *Options) { o.may = [2][]int{{0, 1, 2}, {0, 1, 2}} })
	both := with(func(o *Options) { o.may = [2][]int{{0, 1}, {0, 1}}; o.nameCPUs([]int{1, 1}, []int{0, 0}) })
	far := with(func(o *Options) { o.may = [2][]int{{0, 1}, {0, 1}}; o.far = [2][]int{{4, 5}, {4, 5}} })
	any := with(func(o *Options) { *o = far; o.nodes = [2]*int{new(matrix.AnyNode), new(matrix.AnyNode)} })
	layout := with(func(o *Options) { o.layoutNamed[0] = true })
	for _, x := range []struct {
		name    string
		o       Options
		cell    plan.Cell
		same    bool
		sut, tg string
	}{
		{"one", plain, plan.Cell{RX: "tcp", CPULayout: "2cpu"}, true, "[{7 6}]", "[{0 0}]"},
		{"two", plain, plan.Cell{RX: "tcp", Flows: 2}, true, "[{7 7} {6 6}]", "[{0 0} {1 1}]"},
		{"two of a TG of its own", plain, plan.Cell{RX: "tcp", Flows: 2, CPULayout: "1cpu"}, false, "[{7 7} {6 6}]",
			"[{7 7} {6 6}]"},
		{"two with two", plain, plan.Cell{RX: "tcp", Flows: 2, CPULayout: "2cpu"}, true, "[{7 6} {5 4}]",
			"[{0 0} {1 1}]"},
		{"two of the TG with two", plain, plan.Cell{RX: "tcp", Flows: 2, TGCPULayout: "2cpu"}, true, "[{7 7} {6 6}]",
			"[{0 1} {2 3}]"},
		{"too many", few, plan.Cell{RX: "tcp", Flows: 2, CPULayout: "1cpu"}, true, "[{2 2} {-2 -2}]",
			"[{0 0} {1 1}]"},
		{"enough alone", few, plan.Cell{RX: "tcp", Flows: 2, CPULayout: "1cpu"}, false, "[{2 2} {1 1}]",
			"[{2 2} {1 1}]"},
		{"named", named, plan.Cell{RX: "tcp", Flows: 3, CPULayout: "1cpu"}, true, "[{5 5} {4 4} {5 5}]",
			"[{-1 -1} {-1 -1} {-1 -1}]"},
		{"named, with two", named, plan.Cell{RX: "tcp", Flows: 3, CPULayout: "2cpu"}, true, "[{5 7} {4 6} {5 7}]",
			"[{-1 -1} {-1 -1} {-1 -1}]"},
		{"all named, with two", both, plan.Cell{RX: "tcp", Flows: 2, CPULayout: "2cpu"}, true, "[{1 0} {1 0}]",
			"[{0 0} {0 0}]"},

		{"softirqs of one queue", plain, plan.Cell{RX: "tcp", Flows: 3, Queues: 1, CPULayout: "2cpu"}, true,
			"[{7 6} {5 6} {4 6}]", "[{0 0} {1 1} {2 2}]"},
		{"softirqs of the queue named", plain, plan.Cell{RX: "tcp", Flows: 2, Queue: new(3), CPULayout: "2cpu"},
			true, "[{7 6} {5 6}]", "[{0 0} {1 1}]"},
		{"softirqs of two queues", plain, plan.Cell{RX: "uring", Flows: 3, Queues: 2, CPULayout: "2cpu"}, true,
			"[{7 6} {5 4} {3 6}]", "[{0 0} {1 1} {2 2}]"},
		{"named, of one queue", named, plan.Cell{RX: "tcp", Flows: 3, Queues: 1, CPULayout: "2cpu"}, true,
			"[{5 7} {4 7} {5 7}]", "[{-1 -1} {-1 -1} {-1 -1}]"},

		{"thread of a queue", plain, plan.Cell{RX: "zcrx", Flows: 4, Queues: 1, CPULayout: "2cpu"}, true,
			"[{7 6} {7 6} {7 6} {7 6}]", "[{0 0} {1 1} {2 2} {3 3}]"},
		{"thread of a queue, too many senders", few, plan.Cell{RX: "devmem", Flows: 3, Queues: 1}, true,
			"[{-2 -2} {-2 -2} {-2 -2}]", "[{0 0} {1 1} {2 2}]"},
		{"thread of a queue, its layout named", layout, plan.Cell{RX: "zcrx", Flows: 2, Queues: 1,
			CPULayout: "2cpu"}, true, "[{7 6} {7 6}]", "[{0 0} {1 1}]"},
		{"thread of a queue, more named", many, plan.Cell{RX: "zcrx", Flows: 3, Queues: 1}, true,
			"[{2 2} {2 2} {2 2}]", "[{0 0} {1 1} {3 3}]"},
		{"thread of a queue, more named, two", many, plan.Cell{RX: "zcrx", Flows: 2, Queues: 1, CPULayout: "2cpu"},
			true, "[{2 7} {2 7}]", "[{0 0} {1 1}]"},

		{"other nodes have some", far, plan.Cell{RX: "tcp", Flows: 2}, false, "[{1 1} {0 0}]", "[{1 1} {0 0}]"},
		{"other nodes are not asked", far, plan.Cell{RX: "tcp", Flows: 3}, false, "[{1 1} {0 0} {-2 -2}]",
			"[{1 1} {0 0} {-2 -2}]"},
		{"any node", any, plan.Cell{RX: "tcp", Flows: 3}, false, "[{1 1} {0 0} {5 5}]", "[{1 1} {0 0} {5 5}]"},
		{"any node, one machine", any, plan.Cell{RX: "tcp", Flows: 2}, true, "[{5 5} {4 4}]", "[{0 0} {1 1}]"},
	} {
		r := between("a", map[bool]string{true: "a", false: "b"}[x.same], x.o)
		sut, _ := r.cpus(stream.RX, x.cell)
		tg, _ := r.cpus(stream.TX, x.cell)
		if fmt.Sprint(sut) != x.sut || fmt.Sprint(tg) != x.tg {
			t.Errorf("%s: %v and %v, want %s and %s", x.name, sut, tg, x.sut, x.tg)
		}
	}
}

// between is a runner between two namespaces of machines with the CPUs that may be used.
func between(sut, tg string, o Options) *Runner {
	at := func(boot, netns string, cpus []int) *host.Host {
		return &host.Host{Spec: host.Spec{Name: "netns:" + netns}, Info: wire.HelloResult{NetNS: netns,
			OnlineCPUs: cpus, Env: measure.Env{BootID: boot}}}
	}
	return &Runner{SUT: at(sut, "s", o.may[0]), TG: at(tg, "t", o.may[1]), Opt: o}
}

// A host with too few CPUs is told by what its threads and softirqs need, and what it has; and
// each fix that is named is one: with it the cell can run.
func TestTooFewCPUs(t *testing.T) {
	two := Options{may: [2][]int{{0, 1}, {0, 1}}, SUTFlows: []place.CPUs{{App: 1, Softirq: 0}},
		TGFlows: []place.CPUs{{App: 0, Softirq: 0}}}
	far := two
	far.far = [2][]int{{4, 5, 6, 7}, {}}
	all := two
	all.may = [2][]int{{0, 1, 2, 3}, {0, 1, 2, 3}}
	for _, x := range []struct {
		name    string
		o       Options
		tg      string
		cell    plan.Cell
		reason  string
		fix, no string
	}{
		{"threads", two, "b", plan.Cell{RX: "tcp", Flows: 4},
			"4 flows need 4 CPUs for threads, but netns:s has 2 near its interface (0-1); ",
			"ask for fewer flows: 2 fit; or name the CPUs", "any"},
		{"of one machine", two, "a", plan.Cell{RX: "tcp", Flows: 2}, "2 flows need 2 CPUs for threads, and " +
			"the other end 2 more of the same machine, 4 in all, but netns:s has 2 near its interface (0-1); online",
			"only 1 fits", "any"},
		{"with softirqs", all, "b", plan.Cell{RX: "tcp", Flows: 4, CPULayout: "2cpu"},
			"4 flows need 4 CPUs for threads and 4 for softirqs, but netns:s has 4", "2 fit", "-1"},
		{"with those of queues", all, "b", plan.Cell{RX: "tcp", Flows: 4, Queues: 2, CPULayout: "2cpu"},
			"4 flows need 4 CPUs for threads and 2 for softirqs (one for each RX queue), but netns:s has 4",
			"fewer flows: 2 fit", "--queues"},
		{"with those of fewer queues", all, "b", plan.Cell{RX: "tcp", TX: "tcp", Flows: 3, Queues: 2,
			CPULayout: "2cpu", TGCPULayout: "1cpu"},
			"3 flows need 3 CPUs for threads and 2 for softirqs (one for each RX queue), but",
			"fewer flows: 2 fit; or let the flows share RX queues: --queues 1", ""},
		{"threads of queues", two, "b", plan.Cell{RX: "zcrx", Flows: 2, Queues: 2, CPULayout: "2cpu",
			TGCPULayout: "1cpu"}, "2 flows need 2 CPUs for threads and 2 for softirqs, but", "--queues 1", ""},
		{"threads of two queues", two, "b", plan.Cell{RX: "zcrx", Flows: 4, Queues: 3, TGCPULayout: "1cpu"},
			"4 flows need 3 CPUs for threads (one for each RX queue), but", "fewer flows: 2 fit", ""},
		{"a queue's thread", two, "a", plan.Cell{RX: "devmem", Flows: 2, Queues: 1},
			"2 flows need 1 CPU for their thread, and the other end 2 more of the same machine, 3 in all, but " +
				"netns:s has 2", "only 1 fits", ""},
		{"other nodes", far, "b", plan.Cell{RX: "tcp", TX: "tcp", Flows: 6},
			"6 flows need 6 CPUs for threads, but netns:s has 2",
			"allow CPUs of other NUMA nodes: --node any (in files sut.node: any)", "--tg-node"},
		{"too few on all nodes", far, "b", plan.Cell{RX: "tcp", Flows: 7}, "7 flows need 7 CPUs", "", "any"},
	} {
		m := between("a", x.tg, x.o).crammed(x.cell)
		if m == nil || !strings.Contains(m.Reason, x.reason) || !strings.Contains(m.Fix, x.fix) || x.no != "" &&
			strings.Contains(m.Fix, x.no) {
			t.Errorf("%s: %+v\nwant %q, %q", x.name, m, x.reason, x.fix)
		}
	}
}

// Two flows share the CPUs that were named for them: the sum is the run's, each is on record,
// and one flow beside them is as ever. With a CPU each, and none to have, the cell cannot run.
func TestIntegrationFlows(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	seen := map[int]int{}
	// On a busy machine it may take a longer window until there is something of each flow in it.
	for ms := 300; (seen[1] == 0 || seen[2] == 0) && ms < 10_000; ms *= 3 {
		sharedCPUs(t, ms, seen)
	}
	if seen[1] == 0 || seen[2] == 0 {
		t.Errorf("runs by flows: %v", seen)
	}

	all := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem]", "rx: tcp, flows: 1024", 1))
	if _, err := all.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, _ := kept(t, all.Dir)
	for _, r := range j.Records {
		if r.Verdict != results.Unsupported ||
			!strings.Contains(r.Reason, "1024 flows need 1024 CPUs for threads") ||
			!strings.Contains(r.Fix, "--sut-cpu") {
			t.Errorf("%s: %q; fix %q", r.Verdict, r.Reason, r.Fix)
		}
		if !r.Blocked {
			t.Errorf("%s: too few CPUs are not a mode that cannot run here", r.Cell.ID)
		}
	}
	if len(j.Records) == 0 {
		t.Error("nothing was recorded")
	}
}

// sharedCPUs makes runs of one flow and two, and adds to those that it has seen.
func sharedCPUs(t *testing.T, windowMs int, seen map[int]int) {
	t.Helper()
	text := strings.NewReplacer("rx: [tcp, uring, devmem]", "rx: [tcp, uring], flows: [1, 2]", "duration: 100ms",
		fmt.Sprintf("duration: %dms", windowMs)).Replace(small)
	e := experiment(t, text)
	e.Spec.SUT.NameCPUs([]int{1, 1})
	e.Spec.TG.NameCPUs([]int{0, 0})
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, _ := kept(t, e.Dir)
	for _, r := range j.Records {
		if r.Warmup || starved(t, r) || r.Verdict == results.Invalid && (r.Spoilt() || late(t, r)) {
			continue
		}
		n := r.Cell.NFlows()
		if seen[n]++; r.Verdict != results.OK {
			t.Errorf("%s: %s: %s", r.Cell.ID, r.Verdict, r.Reason)
			continue
		}
		for _, h := range []*results.Host{&r.SUT, &r.TG} {
			var sum uint64
			for _, f := range h.Flows {
				if f.Bytes == nil || *f.Bytes == 0 || f.CPU == nil || f.Verdict != results.OK {
					t.Errorf("%s: %+v", r.Cell.ID, f)
					continue
				}
				sum += *f.Bytes
			}
			if h.Threads != n {
				t.Errorf("%s: %d threads", r.Cell.ID, h.Threads)
			}
			if len(h.Flows) != n || sum != *h.Bytes || h.CPUBusyCores == nil || *h.CPUBusyCores > 1.05 {
				t.Errorf("%s: %d flows of %d; %d bytes of %d; %v cores of one CPU", r.Cell.ID, len(h.Flows), n, sum,
					*h.Bytes, h.CPUBusyCores)
			}
		}
	}
}
