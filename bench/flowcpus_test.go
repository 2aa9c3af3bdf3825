// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// Each of several flows has CPUs of its own, unless the user named fewer; on one machine the two
// ends have different ones.
func TestFlowCPUs(t *testing.T) {
	near := []int{0, 1, 2, 3, 4, 5, 6, 7}
	plain := Options{may: [2][]int{near, near}, SUTFlows: []place.CPUs{{App: 7, Softirq: 6}}, TGFlows: []place.CPUs{{App: 0, Softirq: 0}}}
	named, few := plain, plain
	named.SUTFlows, named.TGFlows = slices.Clone(plain.SUTFlows), slices.Clone(plain.TGFlows)
	named.nameCPUs([]int{5, 4}, []int{-1})
	few.may = [2][]int{{0, 1, 2}, {0, 1, 2}}
	for _, x := range []struct {
		name  string
		o     Options
		role  stream.Role
		flows int
		l     place.Layout
		same  bool
		want  string
	}{
		{"one", plain, stream.RX, 1, place.TwoCPU, true, "[{7 6}]"},
		{"two", plain, stream.RX, 2, place.AsFound, true, "[{7 7} {6 6}]"},
		{"two of the TG", plain, stream.TX, 2, place.OneCPU, true, "[{0 0} {1 1}]"},
		{"two of a TG of its own", plain, stream.TX, 2, place.OneCPU, false, "[{7 7} {6 6}]"},
		{"two with two", plain, stream.RX, 2, place.TwoCPU, true, "[{7 6} {5 4}]"},
		{"too many", few, stream.RX, 2, place.OneCPU, true, "[{2 2} {-2 -2}]"},
		{"enough alone", few, stream.RX, 2, place.OneCPU, false, "[{2 2} {1 1}]"},
		{"named", named, stream.RX, 3, place.OneCPU, true, "[{5 5} {4 4} {5 5}]"},
		{"not pinned", named, stream.TX, 2, place.AsFound, true, "[{-1 -1} {-1 -1}]"},
		{"named, with two", named, stream.RX, 3, place.TwoCPU, true, "[{5 7} {4 6} {5 7}]"},
	} {
		got := x.o.flowCPUs(x.role, x.flows, x.l, x.same)
		if fmt.Sprint(got) != x.want {
			t.Errorf("%s: %v, want %s", x.name, got, x.want)
		}
	}
}

// Two flows share the CPUs that were named for them: the sum is the run's, each is on record,
// and one flow beside them is as ever. With a CPU each, and none to have, the cell cannot run.
func TestIntegrationFlows(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	text := strings.NewReplacer("rx: [tcp, uring, devmem]", "rx: [tcp, uring], flows: [1, 2]", "duration: 100ms", "duration: 300ms").Replace(small)
	e := experiment(t, text)
	e.Spec.SUT.NameCPUs([]int{1, 1})
	e.Spec.TG.NameCPUs([]int{0, 0})
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, _ := kept(t, e.Dir)
	seen := map[int]int{}
	for _, r := range j.Records {
		if r.Warmup || r.Verdict == results.Invalid && (r.Spoilt() || late(t, r)) {
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
			if len(h.Flows) != n || sum != *h.Bytes || h.CPUBusyCores == nil || *h.CPUBusyCores > 1.05 {
				t.Errorf("%s: %d flows of %d; %d bytes of %d; %v cores of one CPU", r.Cell.ID, len(h.Flows), n, sum, *h.Bytes, h.CPUBusyCores)
			}
		}
	}
	if seen[1] == 0 || seen[2] == 0 {
		t.Errorf("runs by flows: %v", seen)
	}

	all := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem]", "rx: tcp, flows: 1024", 1))
	if _, err := all.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, _ = kept(t, all.Dir)
	for _, r := range j.Records {
		if r.Verdict != results.Unsupported || !strings.Contains(r.Reason, "1024 flows need one CPU each") || !strings.Contains(r.Fix, "--sut-cpu") {
			t.Errorf("%s: %q; fix %q", r.Verdict, r.Reason, r.Fix)
		}
	}
	if len(j.Records) == 0 {
		t.Error("nothing was recorded")
	}
}
