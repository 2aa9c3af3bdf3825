// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/lab/guest"
)

// kvmPatience is how long a probe may take. A kernel under KVM is up in a
// second or two; where KVM is there but does not work it mostly hangs.
const kvmPatience = 15 * time.Second

// kvmBoots reports whether KVM boots this kernel here. An existing /dev/kvm
// does not say so: nested virtualisation may miss what the kernel wants. The
// answer is kept in accel.json for this host kernel, QEMU and guest kernel.
func (c *cache) kvmBoots(ctx context.Context, b Built, init string, log io.Writer) bool {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	f.Close()
	known := map[string]bool{}
	if err := c.readJSON(&known, "accel.json"); err != nil {
		known = map[string]bool{}
	}
	key := accelKey(b.Release)
	if boots, ok := known[key]; ok {
		return boots
	}
	fmt.Fprintf(log, "lab: checking whether KVM boots %s here\n", b.Release)
	boots := probeKVM(ctx, b, init)
	if ctx.Err() != nil {
		return false
	}
	known[key] = boots
	if err := c.writeJSON(known, "accel.json"); err != nil {
		fmt.Fprintf(log, "lab: cannot remember the answer: %v\n", err)
	}
	return boots
}

// accelKey names what kvmBoots' answer depends on: the host kernel, QEMU and the guest kernel.
func accelKey(release string) string {
	var u unix.Utsname
	unix.Uname(&u)
	qemu, _ := exec.Command("qemu-system-x86_64", "--version").Output()
	version, _, _ := strings.Cut(string(qemu), "\n")
	return fmt.Sprintf("%s | %s | %s", unix.ByteSliceToString(u.Release[:]), version, release)
}

// probeKVM boots a guest that only says hello.
func probeKVM(ctx context.Context, b Built, init string) bool {
	ctx, cancel := context.WithTimeout(ctx, kvmPatience)
	defer cancel()
	ram, err := newInitramfs(init, "", &guest.Spec{Probe: true})
	if err != nil {
		return false
	}
	defer ram.close()
	img, err := ram.image()
	if err != nil {
		return false
	}
	defer img.Close()
	m, err := startVM(ctx, vmConfig{vmlinuz: b.Vmlinuz, initramfs: img, kvm: true, cpus: 2, memMiB: 1024})
	if err != nil {
		return false
	}
	defer m.closePorts()
	var rep guest.Report
	got := make(chan error, 1)
	go func() { got <- json.NewDecoder(m.ports[guest.PortControl]).Decode(&rep) }()
	<-m.done
	m.closePorts()
	return <-got == nil && rep.Ready != nil
}
