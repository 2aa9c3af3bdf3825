// SPDX-License-Identifier: MIT

package lab

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
)

// A NIC that there is not is a wrong input, which lists those there are; so are parameters
// of a soft NIC that is not loaded.
func TestCheckNIC(t *testing.T) {
	for _, n := range append(NICs(), "") {
		if err := (&MachineOptions{NIC: n}).check(); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	for _, n := range []string{"qemu", "qemu:", "e1000e", "qemu:rtl8139", "softnic"} {
		err := (&MachineOptions{NIC: n}).check()
		if ExitOf(err) != exitUsage || err == nil || !strings.Contains(err.Error(), "bnxt") ||
			!strings.Contains(err.Error(), "qemu:e1000e, qemu:virtio") {
			t.Errorf("%s: %v", n, err)
		}
	}
	o := MachineOptions{NIC: "qemu:virtio", Module: "queues=2"}
	if err := o.check(); ExitOf(err) != exitUsage || err == nil {
		t.Errorf("parameters for a soft NIC that there is not: %v", err)
	}
	o = MachineOptions{NIC: "qemu:virtio", Card: "lose=9"}
	if err := o.check(); ExitOf(err) != exitUsage || err == nil {
		t.Errorf("faults of a NIC that is not ours: %v", err)
	}
	o = MachineOptions{NIC: "gve-real", Card: "lose=1"}
	if err := o.check(); ExitOf(err) != exitUsage || err == nil {
		t.Errorf("faults that there are not: %v", err)
	}
	if got := (&MachineOptions{NIC: "qemu:virtio"}).module(); got != "" {
		t.Errorf("the soft NIC is told %q", got)
	}
}

// A machine with a NIC of QEMU's is no other's, and the other way round.
func TestMachineLacksNIC(t *testing.T) {
	soft, virtio := Machine{}, Machine{NIC: "qemu:virtio"}
	for _, x := range []struct {
		m    Machine
		o    MachineOptions
		says string
	}{
		{soft, MachineOptions{}, ""},
		{soft, MachineOptions{NIC: "bnxt"}, ""},
		{soft, MachineOptions{NIC: "qemu:virtio"}, "nic qemu:virtio was requested, it has soft"},
		{virtio, MachineOptions{}, ""},
		{virtio, MachineOptions{NIC: "qemu:virtio"}, ""},
		{virtio, MachineOptions{NIC: "qemu:e1000e"}, "nic qemu:e1000e was requested, it has qemu:virtio"},
		{virtio, MachineOptions{NIC: "bnxt"}, "nic bnxt"},
		{Machine{NIC: "gve-real"}, MachineOptions{NIC: "gve-real", Card: "lose=9"},
			"gvnic lose=9 was requested, it has none of it"},
		{virtio, MachineOptions{Module: "queues=2"}, "nic soft was requested, it has qemu:virtio"},
	} {
		if got := x.m.lacks(&x.o); x.says == "" && got != "" || !strings.Contains(got, x.says) {
			t.Errorf("%q, asked for %+v: %q, want %q", x.m.NIC, x.o, got, x.says)
		}
	}
}

// The state of a machine is that of its NIC, and of how that is wired.
func TestSavedNameOfNIC(t *testing.T) {
	if !there("qemu-system-x86_64") {
		t.Skip("no qemu-system-x86_64 here")
	}
	c := testCache(t)
	seen := map[string]string{}
	put := func(what string, change func(*vmConfig), spec *guest.Spec) {
		cfg := vmConfig{vmlinuz: "/boot/k", cpus: 2, memMiB: 2048, tscKHz: 2_500_000}
		change(&cfg)
		s := newSaved(c, cfg, spec, []string{os.Args[0]})
		if s == nil {
			t.Fatalf("%s is not kept", what)
		}
		if other := seen[s.name]; other != "" {
			t.Errorf("%s has the state of %s", what, other)
		}
		seen[s.name] = what
	}
	put("soft", func(*vmConfig) {}, &guest.Spec{})
	for i := range qemuNICs {
		n := &qemuNICs[i]
		if n.own() {
			if s := newSaved(c, vmConfig{cpus: 2, memMiB: 2048, tscKHz: 2_500_000, nic: n}, &guest.Spec{},
				nil); s != nil {
				t.Errorf("%s is kept, and what its device knows is not", n.name)
			}
			continue
		}
		spec := &guest.Spec{NIC: n.spec([]string{"/x/" + n.modules[0] + ".ko.xz"})}
		put(n.name+" on a hub", func(v *vmConfig) { v.nic = n }, spec)
		put(n.name+" on taps", func(v *vmConfig) { v.nic, v.queues = n, n.queues }, spec)
	}
}

// Each tap's descriptors are named in the order in which QEMU inherits them.
func TestTapArgs(t *testing.T) {
	var two taps
	two[0], two[1] = make([]*os.File, 2), make([]*os.File, 2)
	want := []string{"-netdev", "tap,id=nic0,vhost=off,fds=9:10", "-netdev", "tap,id=nic1,vhost=off,fds=11:12"}
	if got := tapArgs(two, 9); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What joins the NICs is on no network of this host, and goes with its descriptors.
func TestIntegrationTaps(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a network namespace")
	}
	before, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	made, err := newTaps(2)
	if err != nil {
		t.Skipf("no taps here: %v", err)
	}
	defer made.close()
	if n := len(made.files()); n != 4 {
		t.Errorf("%d descriptors", n)
	}
	after, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	if names(before) != names(after) {
		t.Errorf("this host has other interfaces than before: %s, were %s", names(after), names(before))
	}
}

// names are the interfaces of /proc/net/dev.
func names(dev []byte) string {
	var all []string
	for line := range strings.Lines(string(dev)) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			all = append(all, strings.TrimSpace(name))
		}
	}
	return strings.Join(all, " ")
}
