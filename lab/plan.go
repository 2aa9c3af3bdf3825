// SPDX-License-Identifier: MIT

package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/zcbench/zcbench/lab/guest"
)

// plan is a machine up to switching it on, as often as wanted.
type plan struct {
	what Machine
	img  *os.File // initramfs
	cfg  vmConfig
	kept *saved // where its state after the boot is kept; nil: nowhere

	booting func(release string, kvm bool)
}

// newPlan makes ready what the machine boots from.
func newPlan(ctx context.Context, o MachineOptions, log io.Writer) (*plan, error) {
	if err := errors.Join(o.check(), o.setInit()); err != nil {
		return nil, err
	}
	if err := checkStatic(o.Init); err != nil {
		return nil, &Error{"use this program as the guest's /init", err, "build it with CGO_ENABLED=0"}
	}
	var kernels []string
	if o.Kernel != "" {
		kernels = []string{o.Kernel}
	}
	built, err := Build(ctx, BuildOptions{Cache: o.Cache, Kernels: kernels, Install: o.Install}, log)
	if err != nil {
		return nil, err
	}
	c, err := openCache(o.Cache)
	if err != nil {
		return nil, err
	}
	init := identity(o.Init) // of what goes into the image, whatever is built meanwhile
	load, spec, err := o.load(ctx, built[0], log)
	if err != nil {
		return nil, err
	}
	nic := o.qemuNIC()
	p := &plan{booting: o.Booting}
	p.cfg = vmConfig{vmlinuz: built[0].Vmlinuz, vmlinux: built[0].Vmlinux, extra: o.QEMU, tscKHz: hostTSC(),
		cpus: cmp.Or(o.CPUs, DefaultCPUs), memMiB: cmp.Or(o.MemMiB, DefaultMemMiB)}
	p.cfg.kvm = !o.NoKVM && !o.CountTime && c.kvmBoots(ctx, built[0], o.Init, log)
	p.cfg.counts = o.CountTime || o.CountEmulated && !p.cfg.kvm
	p.cfg.nic, p.cfg.queues, p.cfg.card = nic, nic.wiring(log), o.Card
	p.cfg.waits = o.disk
	if nic.own() {
		if p.cfg.qemu, err = fetchEmulator(ctx, BuildOptions{Cache: o.Cache}, built[0].Suite, log); err != nil {
			return nil, err
		}
	}
	if err := p.image(c, &o, built[0], load, spec); err != nil {
		return nil, err
	}
	p.what = Machine{Cache: c.dir, Suite: built[0].Suite, Release: built[0].Release, CPUs: p.cfg.cpus,
		MemMiB: p.cfg.memMiB,
		Module: o.module(), NIC: nic.named(), Card: o.Card, MTU: cmp.Or(o.MTU, guest.DefaultMTU), QEMU: o.QEMU,
		Load: o.Load,
		KVM:  p.cfg.kvm, Counts: p.cfg.counts, Init: init}
	return p, nil
}

// load finds the modules that the machine loads besides the soft NIC, and builds the guest's spec.
func (o *MachineOptions) load(ctx context.Context, b Built, log io.Writer) (paths []string, spec *guest.Spec,
	err error) {
	spec = &guest.Spec{Module: o.module(), MTU: o.MTU}
	if len(o.Load) > 0 {
		if paths, err = drivers(ctx, BuildOptions{Cache: o.Cache}, b, o.Load, log); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range paths {
		spec.Load = append(spec.Load, guest.DriverDir+"/"+filepath.Base(p))
	}
	if n := o.qemuNIC(); n != nil {
		own, err := drivers(ctx, BuildOptions{Cache: o.Cache}, b, n.modules, log)
		if err != nil {
			return nil, nil, err
		}
		spec.NIC = n.spec(own)
		paths = append(paths, own...)
	}
	return paths, spec, nil
}

// image makes the initramfs, and finds the place for the machine's state. A file that is
// replaced meanwhile would be in one and not in the other: then nothing is kept.
func (p *plan) image(c *cache, o *MachineOptions, b Built, load []string, spec *guest.Spec) (err error) {
	place := func() *saved {
		if !o.Resume {
			return nil
		}
		return newSaved(c, p.cfg, spec, append(slices.Clip(load), o.Init, b.Module))
	}
	p.kept = place()
	if p.img, err = makeImage(o.Init, b.Module, load, spec); err != nil {
		return &Error{Op: "make the initramfs", Err: err}
	}
	if again := place(); again == nil || p.kept != nil && p.kept.name != again.name {
		p.kept = nil
	}
	p.cfg.initramfs = p.img
	return nil
}

func makeImage(init, module string, load []string, spec *guest.Spec) (*os.File, error) {
	ram, err := newInitramfs(init, module, spec)
	if err != nil {
		return nil, err
	}
	defer ram.close()
	for _, p := range load {
		if err := ram.addFile(guest.DriverDir+"/"+filepath.Base(p), p); err != nil {
			return nil, err
		}
	}
	return ram.image()
}

func (p *plan) close() { p.img.Close() }

// identity returns a word that differs for other files, and for other versions of one.
func identity(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s %d %s", inode(st), st.Size(), st.ModTime())
}
