// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/plan/matrix"
)

// A CPU to which no thread of an agent can be bound is refused before the run, by the name of
// what has named it; interrupts may go there.
func TestCPUsOutsideTheCpuset(t *testing.T) {
	h := func(pin []int) *host.Host {
		return &host.Host{Info: wire.HelloResult{OnlineCPUs: []int{0, 1, 2, 3}, PinCPUs: pin, OwnCPUs: pin}}
	}
	two := 2
	for _, x := range []struct {
		end  matrix.End
		says string
	}{
		{matrix.End{}, ""},
		{matrix.End{CPU: &two}, "--sut-cpu: no thread can be bound to CPU 2"},
		{matrix.End{Layouts: map[string]matrix.Layout{"2cpu": {App: 3, IRQ: 0}}},
			"sut.layouts.2cpu.app: no thread can be bound to CPU 3"},
		{matrix.End{Layouts: map[string]matrix.Layout{"2cpu": {App: 0, IRQ: 3}}}, ""},
		{matrix.End{Layouts: map[string]matrix.Layout{"2cpu": {App: 0, IRQ: 9}}}, "CPU 9 is not online"},
	} {
		st := &stage{hosts: &hosts{SUT: h([]int{0, 1}), TG: h(nil)},
			spec: &matrix.Spec{SUT: x.end, Flags: map[string]string{"sut.cpu": "--sut-cpu"}}}
		err := st.checkCPUs()
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%+v: %v, want %q", x.end, err, x.says)
		}
		if err != nil && strings.Contains(x.says, "bound") && !strings.Contains(err.Error(), "allows CPUs 0-1") {
			t.Errorf("%v does not say which there are", err)
		}
	}
	st := &stage{hosts: &hosts{SUT: h(nil), TG: h(nil)}, spec: &matrix.Spec{SUT: matrix.End{CPU: &two}}}
	if err := st.checkCPUs(); err != nil {
		t.Errorf("where it is not known: %v", err)
	}
	// lxcfs shows a list of its own: what is allowed is taken, and what is not is so because of the
	// cpuset, and not because it is not online.
	lxc := h([]int{24})
	lxc.Info.OnlineCPUs, lxc.Info.NotKernels = []int{24}, []string{"/sys/devices/system/cpu/online"}
	for cpu, says := range map[int]string{24: "", 5: "the cpuset of its cgroup allows CPUs 24"} {
		st := &stage{hosts: &hosts{SUT: lxc, TG: h(nil)}, spec: &matrix.Spec{SUT: matrix.End{CPU: &cpu}}}
		err := st.checkCPUs()
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "online")) {
			t.Errorf("CPU %d of a container: %v, want %q", cpu, err, says)
		}
	}
	if got, want := usable(h([]int{0, 1}).Info),
		"online are 0-3, and this process may use 0-1 of them"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
