package lab

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zcbench/zcbench/lab/guest"
)

// plan is a machine up to switching it on, as often as wanted.
type plan struct {
	what Machine
	img  *os.File // initramfs
	cfg  vmConfig

	booting func(release string, kvm bool)
}

// newPlan makes ready what the machine boots from.
func newPlan(ctx context.Context, o MachineOptions, log io.Writer) (*plan, error) {
	if err := o.setInit(); err != nil {
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
	p := &plan{booting: o.Booting}
	init := identity(o.Init) // of what goes into the image, whatever is built meanwhile
	if p.img, err = o.image(ctx, built[0], log); err != nil {
		return nil, err
	}
	p.cfg = vmConfig{vmlinuz: built[0].Vmlinuz, vmlinux: built[0].Vmlinux, initramfs: p.img, extra: o.QEMU,
		cpus: cmp.Or(o.CPUs, DefaultCPUs), memMiB: cmp.Or(o.MemMiB, DefaultMemMiB)}
	p.cfg.kvm = !o.NoKVM && !o.CountTime && c.kvmBoots(ctx, built[0], o.Init, log)
	p.cfg.counts = o.CountTime || o.CountEmulated && !p.cfg.kvm
	p.what = Machine{Cache: c.dir, Suite: built[0].Suite, Release: built[0].Release, CPUs: p.cfg.cpus, MemMiB: p.cfg.memMiB,
		Module: o.Module, MTU: cmp.Or(o.MTU, guest.DefaultMTU), QEMU: o.QEMU, Load: o.Load,
		KVM: p.cfg.kvm, Counts: p.cfg.counts, Init: init}
	return p, nil
}

// image makes the initramfs.
func (o *MachineOptions) image(ctx context.Context, b Built, log io.Writer) (*os.File, error) {
	var load []string
	if len(o.Load) > 0 {
		var err error
		if load, err = drivers(ctx, BuildOptions{Cache: o.Cache}, b, o.Load, log); err != nil {
			return nil, err
		}
	}
	spec := guest.Spec{Module: o.Module, MTU: o.MTU}
	for _, p := range load {
		spec.Load = append(spec.Load, guest.DriverDir+"/"+filepath.Base(p))
	}
	img, err := makeImage(o.Init, b.Module, load, &spec)
	if err != nil {
		return nil, &Error{Op: "make the initramfs", Err: err}
	}
	return img, nil
}

func makeImage(init, module string, load []string, spec *guest.Spec) (*os.File, error) {
	ram, err := newInitramfs(init, module, spec)
	if err != nil {
		return nil, err
	}
	defer ram.close()
	for i, p := range load {
		if err := ram.addFile(spec.Load[i], p); err != nil {
			return nil, err
		}
	}
	return ram.image()
}

func (p *plan) close() { p.img.Close() }

// identity tells files apart, and versions of one.
func identity(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s %d %s", inode(st), st.Size(), st.ModTime())
}
