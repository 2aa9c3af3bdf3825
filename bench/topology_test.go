// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// twoSockets is a host of two nodes with two cores each, of two threads: 0 and 4 are one core.
func twoSockets(boot string) *host.Host {
	h := &host.Host{Spec: host.Spec{Name: "ssh:a"}, Info: wire.HelloResult{PID: 1, NetNS: "x",
		OnlineCPUs: []int{0, 1, 2, 3, 4, 5, 6, 7}}}
	h.Info.Env.BootID = boot
	h.Info.SetTopology(place.Topology{Cores: [][]int{{0, 4}, {1, 5}, {2, 6}, {3, 7}},
		Nodes: map[int][]int{0: {0, 1, 4, 5}, 1: {2, 3, 6, 7}}})
	return h
}

// CPUs that the user names and that share a core, or are not on the node that was asked for, are
// refused by the name of what has named them.
func TestCPUsThatAreRefused(t *testing.T) {
	two := func(app, irq int) map[string]matrix.Layout {
		return map[string]matrix.Layout{"2cpu": {App: app, IRQ: irq}}
	}
	for name, x := range map[string]struct {
		end, tg matrix.End
		shared  bool // both ends are on one machine
		says    string
	}{
		"chosen":                {end: matrix.End{}},
		"two cores of the node": {end: matrix.End{Layouts: two(2, 3)}},
		"one core": {end: matrix.End{Layouts: two(6, 2)},
			says: "--cpus: CPUs 6 and 2 of ssh:a are threads of one core"},
		"the other node": {end: matrix.End{CPU: new(1)}, says: "sut.cpu: CPU 1 is on NUMA node 0 of " +
			"ssh:a, not on node 1: its interface is there; node 0 has 0-1,4-5, node 1 has 2-3,6-7"},
		"softirq on the other": {end: matrix.End{Layouts: two(2, 1)}, says: "--cpus: CPU 1 is on NUMA node 0"},
		"any node":             {end: matrix.End{CPU: new(1), Node: new(matrix.AnyNode)}},
		"any node, one core": {end: matrix.End{Layouts: two(0, 4), Node: new(matrix.AnyNode)},
			says: "threads of one core"},
		"the node that was asked": {end: matrix.End{CPU: new(1), Node: new(0)}},
		"not that": {end: matrix.End{CPU: new(2), Node: new(0)},
			says: "not on node 0: which was requested"},
		"no such node": {end: matrix.End{Node: new(7)}, says: "--node: ssh:a has no NUMA node 7"},
		"not pinned":   {end: matrix.End{CPU: new(-1)}},
		"ends of one machine": {end: matrix.End{CPU: new(2)}, tg: matrix.End{CPU: new(6), Node: new(1)},
			shared: true, says: "sut.cpu and tg.cpu: CPUs 2 and 6 are threads of one core"},
		"of two machines": {end: matrix.End{CPU: new(2)}, tg: matrix.End{CPU: new(6), Node: new(1)}},
		"by a flag":       {end: matrix.End{CPU: new(1)}, says: "allow others: --node any"},
	} {
		boots := [2]string{"a", "b"}
		if x.shared {
			boots[1] = "a"
		}
		st := &stage{hosts: &hosts{SUT: twoSockets(boots[0]), TG: twoSockets(boots[1])},
			opt: Options{near: [2][]int{{2, 3}, {0, 1}}},
			spec: &matrix.Spec{SUT: x.end, TG: x.tg, Flags: map[string]string{"sut.node": "--node",
				"sut.layouts.2cpu.app": "--cpus", "sut.layouts.2cpu.irq": "--cpus"}}}
		err := st.checkCPUs()
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want %q", name, err, x.says)
		}
		if _, wrong := err.(*inputError); err != nil && !wrong {
			t.Errorf("%s: %T is not the user's mistake", name, err)
		}
	}
}

// A host that does not say how its CPUs share anything refuses none.
func TestCPUsOfUnknownTopology(t *testing.T) {
	h := twoSockets("a")
	h.Info.Cores, h.Info.Nodes = nil, nil
	st := &stage{hosts: &hosts{SUT: h, TG: h}, opt: Options{near: [2][]int{{2, 3}, {0, 1}}},
		spec: &matrix.Spec{SUT: matrix.End{Layouts: map[string]matrix.Layout{"2cpu": {App: 0, IRQ: 4}}, Node: new(0)}}}
	if err := st.checkCPUs(); err != nil {
		t.Error(err)
	}
	st.spec.SUT.Node = new(1) // what cannot be kept to is not taken in silence
	if err := st.checkCPUs(); err == nil ||
		!strings.Contains(err.Error(), "reports no NUMA nodes, so there is no node") {
		t.Error(err)
	}
}

// Of a node that was asked for one CPU of each core is chosen.
func TestOnNode(t *testing.T) {
	top := twoSockets("a").Info.Topology()
	if got := onNode(top, 1, []int{0, 1, 2, 3, 4, 5, 6, 7}); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("%v", got)
	}
	if got := onNode(top, 1, []int{0, 1}); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("of those that may be used none is there: %v", got)
	}
}

// CPUs that nobody named and that share a core, because there are no others, are said.
func TestMarkSiblings(t *testing.T) {
	for name, x := range map[string]struct {
		boot    string
		sut, tg place.CPUs
		layout  string
		marked  bool
	}{
		"two cores":               {"b", place.CPUs{App: 2, Softirq: 3}, place.CPUs{App: 0, Softirq: 1}, "2cpu", false},
		"one core":                {"b", place.CPUs{App: 2, Softirq: 6}, place.CPUs{App: 0, Softirq: 1}, "2cpu", true},
		"not in this layout":      {"b", place.CPUs{App: 2, Softirq: 6}, place.CPUs{App: 0, Softirq: 1}, "1cpu", false},
		"the ends of a machine":   {"a", place.CPUs{App: 2, Softirq: 2}, place.CPUs{App: 6, Softirq: 6}, "", true},
		"of two machines":         {"b", place.CPUs{App: 2, Softirq: 2}, place.CPUs{App: 6, Softirq: 6}, "", false},
		"not pinned":              {"a", place.NoCPUs, place.NoCPUs, "", false},
		"both on one, its layout": {"a", place.CPUs{App: 2, Softirq: 2}, place.CPUs{App: 2, Softirq: 2}, "1cpu", false},
	} {
		r := &Runner{SUT: twoSockets("a"), TG: twoSockets(x.boot), Opt: Options{SUTFlows: []place.CPUs{x.sut},
			TGFlows: []place.CPUs{x.tg}}}
		rec := results.Record{Cell: plan.Cell{CPULayout: x.layout}}
		r.markSiblings(&rec)
		if got := slices.Contains(rec.Flags, results.FlagSiblings); got != x.marked ||
			(len(rec.Warnings) > 0) != x.marked {
			t.Errorf("%s: flags %v, warnings %v", name, rec.Flags, rec.Warnings)
		}
	}
}

// The CPUs of other nodes are those that an end may use once it is allowed any; what it has of
// them for want of others is said, and what was named is not.
func TestOtherNodes(t *testing.T) {
	all := []wire.Interface{{Name: "eth0", NearCPUs: []int{2, 3}, RXQueues: []int{0, 1}}}
	for name, x := range map[string]struct {
		node   *int
		cpus   []int
		cell   plan.Cell
		far    []int
		app    []int
		marked bool
		says   string
	}{
		"enough": {node: new(matrix.AnyNode), cell: plan.Cell{RX: "tcp", Flows: 2}, far: []int{0, 1},
			app: []int{3, 2}},
		"too few": {node: new(matrix.AnyNode), cell: plan.Cell{RX: "tcp", Flows: 3}, far: []int{0, 1},
			app: []int{3, 2, 1}, marked: true},
		"not allowed": {cell: plan.Cell{RX: "tcp", Flows: 3}, far: []int{0, 1}, app: []int{3, 2, lackingCPU},
			says: "--node any"},
		"another node": {node: new(0), cell: plan.Cell{RX: "tcp", Flows: 3}, far: []int{2, 3},
			app: []int{1, 0, lackingCPU}, says: "3 CPUs for threads, but ssh:a has 2 on NUMA node 0 (0-1)"},
		"named": {node: new(matrix.AnyNode), cpus: []int{0, 1}, cell: plan.Cell{RX: "tcp", Flows: 2},
			far: []int{0, 1}, app: []int{0, 1}},
	} {
		r := &Runner{SUT: twoSockets("a"), TG: twoSockets("b"),
			Opt: Options{SUTDev: "eth0", nodes: [2]*int{x.node, x.node}}}
		for i := range 2 {
			r.Opt.lookAround(i, twoSockets("a"), []string{"eth0"}, all)
		}
		r.Opt.SUTFlows, r.Opt.TGFlows = []place.CPUs{place.NoCPUs}, []place.CPUs{place.NoCPUs}
		r.Opt.nameCPUs(x.cpus, x.cpus)
		var app []int
		cpus, _ := r.cpus(stream.RX, x.cell)
		for _, c := range cpus {
			app = append(app, c.App)
		}
		rec := results.Record{Cell: x.cell}
		r.markNodes(&rec)
		if !slices.Equal(r.Opt.far[0], x.far) || !slices.Equal(app, x.app) ||
			slices.Contains(rec.Flags, results.FlagOtherNode) != x.marked {
			t.Errorf("%s: beyond %v, threads on %v, flags %v", name, r.Opt.far[0], app, rec.Flags)
		}
		if x.marked && !(len(rec.Warnings) == 2 && strings.Contains(rec.Warnings[0],
			"SUT: its interface's NUMA node has too few CPUs, so CPU 1 of another node serve")) {
			t.Errorf("%s: %q", name, rec.Warnings)
		}
		if m := r.crammed(x.cell); (m == nil) != (x.says == "") || m != nil && !strings.Contains(m.Reason+m.Fix,
			x.says) {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// One flow gets its softirq's CPU from another node where its interface's has but one; otherwise
// the refusal says with what it would.
func TestOneFlowOnOtherNodes(t *testing.T) {
	all := []wire.Interface{{Name: "eth0", NearCPUs: []int{3}}}
	for _, allowed := range []bool{true, false} {
		r := &Runner{SUT: twoSockets("a"), TG: twoSockets("b")}
		if allowed {
			r.Opt.nodes[0] = new(matrix.AnyNode)
		}
		for i := range 2 {
			r.Opt.lookAround(i, twoSockets("a"), []string{"eth0"}, all)
		}
		s, g := chooseCPUs(r.Opt.lastFirst(0), r.Opt.candidates(1, false), false)
		r.Opt.SUTFlows, r.Opt.TGFlows = []place.CPUs{s}, []place.CPUs{g}
		m := r.crammed(plan.Cell{RX: "tcp", CPULayout: "2cpu", TGCPULayout: "1cpu"})
		if allowed && (m != nil || s != place.CPUs{App: 3, Softirq: 1}) || !allowed &&
			(m == nil || !strings.Contains(m.Fix, "--node any")) {
			t.Errorf("allowed %v: %v, %+v", allowed, s, m)
		}
	}
}
