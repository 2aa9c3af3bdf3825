// SPDX-License-Identifier: MIT

package lab

import (
	"strings"
	"testing"
)

func TestMachineLacks(t *testing.T) {
	m := Machine{Cache: "/c", Suite: "sid", Release: "7.2.13+deb14-amd64", CPUs: 2, MemMiB: 2048,
		Module: "inline_dma=1",
		MTU:    4148, QEMU: []string{"-device", "x"}, Load: []string{"a", "b"}, Init: identity("/proc/self/exe")}
	for _, x := range []struct {
		o    MachineOptions
		says string // empty: it is what is asked for
	}{
		{MachineOptions{}, ""},
		{MachineOptions{Kernel: "sid", CPUs: 2, MemMiB: 2048, Module: "inline_dma=1", MTU: 4148, QEMU: m.QEMU,
			Load: m.Load, NoKVM: true, Cache: "/c"}, ""},
		{MachineOptions{Kernel: "7.2"}, ""},
		{MachineOptions{Init: "/proc/self/exe"}, ""},
		{MachineOptions{Kernel: "7.3"}, "kernel 7.3 was requested, it has 7.2.13+deb14-amd64"},
		{MachineOptions{Kernel: "trixie-backports"}, "kernel trixie-backports"},
		{MachineOptions{CPUs: 4}, "cpus 4 was requested, it has 2"},
		{MachineOptions{MemMiB: 4096}, "mem 4096"},
		{MachineOptions{Module: "queues=2"}, ""}, // the command brings its own
		{MachineOptions{MTU: 1500}, "mtu 1500"},
		{MachineOptions{QEMU: []string{"-device", "y"}}, "qemu -device y"},
		{MachineOptions{Load: []string{"a"}}, "load a"},
		{MachineOptions{CountTime: true}, "count-time"},
		{MachineOptions{CountEmulated: true}, "count-time"},
		{MachineOptions{Cache: "/d"}, "cache /d"},
		{MachineOptions{Init: "/bin/sh"}, "this build of zcbench"},
	} {
		got := m.lacks(&x.o)
		if x.says == "" && got != "" || !strings.Contains(got, x.says) {
			t.Errorf("%+v: %q, want %q", x.o, got, x.says)
		}
	}
	kvm := Machine{KVM: true}
	if kvm.lacks(&MachineOptions{NoKVM: true}) == "" {
		t.Error("KVM passes for an emulated machine")
	}
	if why := kvm.lacks(&MachineOptions{CountEmulated: true}); why != "" {
		t.Errorf("a machine that is not emulated: %s", why)
	}
}
