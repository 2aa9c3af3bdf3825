// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// hybrid is an i7-12700KF: P-cores of two threads each are 0 to 15, E-cores 16 to 19.
func hybrid(boot string) *host.Host {
	h := &host.Host{Spec: host.Spec{Name: "ssh:a"}, Info: wire.HelloResult{PID: 1, NetNS: "x"}}
	t := place.Topology{Classes: []cpuclass.Class{{Name: "cpu_core"}, {Name: "cpu_atom", CPUs: []int{16, 17, 18, 19}}}}
	for c := range 20 {
		h.Info.OnlineCPUs = append(h.Info.OnlineCPUs, c)
		if c < 16 {
			t.Classes[0].CPUs = append(t.Classes[0].CPUs, c)
		}
		if c < 16 && c%2 == 0 {
			t.Cores = append(t.Cores, []int{c, c + 1})
		}
	}
	h.Info.Env.BootID = boot
	h.Info.SetTopology(t)
	return h
}

// What nobody named runs on P-cores, both ends and their softirqs; flows that are more than these
// get E-cores, and each of them once.
func TestHybridCPUs(t *testing.T) {
	near := []wire.Interface{{Name: "eth1", NearCPUs: []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19}}}
	for name, x := range map[string]struct {
		same     bool
		near     []int
		sut, tg  place.CPUs
		flows    int
		apps     []int // of the SUT
		softirqs []int
	}{
		"two machines": {sut: place.CPUs{App: 14, Softirq: 12}, tg: place.CPUs{App: 14, Softirq: 12}},
		"one machine":  {same: true, sut: place.CPUs{App: 14, Softirq: 12}, tg: place.CPUs{App: 0, Softirq: 0}},
		"only E-cores": {near: []int{16, 17, 18}, sut: place.CPUs{App: 18, Softirq: 17},
			tg: place.CPUs{App: 18, Softirq: 17}},
		"several flows": {sut: place.CPUs{App: 14, Softirq: 12}, tg: place.CPUs{App: 14, Softirq: 12}, flows: 3,
			apps: []int{14, 10, 6}, softirqs: []int{12, 8, 4}},
		"more than P-cores": {sut: place.CPUs{App: 14, Softirq: 12}, tg: place.CPUs{App: 14, Softirq: 12}, flows: 5,
			apps: []int{14, 10, 6, 2, 19}, softirqs: []int{12, 8, 4, 0, 18}},
	} {
		boot := "b"
		if x.same {
			boot = "a"
		}
		sut, tg := hybrid("a"), hybrid(boot)
		o, all := Options{}, near
		if x.near != nil {
			all = []wire.Interface{{Name: "eth1", NearCPUs: x.near}}
		}
		o.lookAround(0, sut, []string{"eth1"}, all)
		o.lookAround(1, tg, []string{"eth1"}, all)
		s, g := chooseCPUs(o.lastFirst(0), o.candidates(1, x.same), x.same)
		if s != x.sut || g != x.tg {
			t.Errorf("%s: SUT %v, TG %v; want %v, %v", name, s, g, x.sut, x.tg)
		}
		if x.flows == 0 {
			continue
		}
		var apps, softirqs []int
		n := need{flows: x.flows, threads: x.flows, layout: place.TwoCPU}
		for _, c := range o.allot([2]need{n, n}, x.same)[0] {
			apps, softirqs = append(apps, c.App), append(softirqs, c.Softirq)
		}
		if !slices.Equal(apps, x.apps) || !slices.Equal(softirqs, x.softirqs) {
			t.Errorf("%s: threads on %v, softirqs on %v; want %v, %v", name, apps, softirqs, x.apps, x.softirqs)
		}
	}
}

// A run whose CPUs are of two classes says so: those of an end, or those of both ends of one
// machine. Two machines may each have their own.
func TestMixedClasses(t *testing.T) {
	for name, x := range map[string]struct {
		sut, tg, app, boot string
		says               string
	}{
		"one class": {"cpu_core", "cpu_core", "1", "a", ""},
		"alike":     {"", "", "1", "a", ""},
		"two of an end": {"cpu_core+cpu_atom", "cpu_core", "1", "b",
			"SUT: the CPUs are of several classes (cpu_core 0-15, cpu_atom 16-19): the figures"},
		"not pinned": {"cpu_core+cpu_atom", "cpu_core", "", "b", "because its threads are not pinned"},
		"two of a machine": {"cpu_core", "cpu_atom", "1", "a",
			"both ends: the CPUs are of several classes (SUT cpu_core, TG cpu_atom)"},
		"two machines": {"cpu_core", "cpu_atom", "1", "b", ""},
	} {
		r, rec := &Runner{SUT: hybrid("a"), TG: hybrid(x.boot)}, results.Record{}
		rec.SUT.Env.CPUClass, rec.TG.Env.CPUClass = x.sut, x.tg
		rec.SUT.Env.AppCPU, rec.TG.Env.AppCPU = x.app, x.app
		r.markClasses(&rec)
		says := strings.Join(rec.Warnings, "; ")
		if slices.Contains(rec.Flags, results.FlagMixedClasses) != (x.says != "") ||
			!strings.Contains(says, x.says) || x.says == "" && says != "" {
			t.Errorf("%s: flags %q, %q; want %q", name, rec.Flags, says, x.says)
		}
	}
}
