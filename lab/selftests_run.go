// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/lab/kselftests"
)

// SelftestOptions say which of the kernel's tests to run, in what machine.
type SelftestOptions struct {
	MachineOptions
	Tests []kselftests.Test
	Out   string    // folder for what each test wrote
	Log   io.Writer // the lab's progress and the kernel's complaints

	// Begin and Done are called around each test.
	Begin func(t kselftests.Test)
	Done  func(t kselftests.Test, took time.Duration, judged []kselftests.Judged)
}

// selftestMTU is that of a NIC as it comes: the tests know no other.
const selftestMTU = 1500

// diskDrivers are the modules that the disk takes, each after those it depends on.
var diskDrivers = []string{"virtio_blk", "crc16", "mbcache", "jbd2", "ext4", "overlay"}

// outputKept is how much of what a test writes is kept, bytes: the end.
const outputKept = 8 << 20

// slack is how much longer than its limit the host waits for a test: the guest's clock
// says when the time is over, and emulated on a busy host it is slow.
const slack = 20

// RunSelftests runs the kernel's tests in Python on the soft NIC, each on a machine as it
// was for the first: a soft NIC that was loaded for it, namespaces of its own. One that
// makes the kernel complain, or dies with it, costs itself alone.
func RunSelftests(ctx context.Context, o SelftestOptions) (release string, err error) {
	b := BuildOptions{Cache: o.Cache, Install: o.Install}
	if o.Kernel != "" {
		b.Kernels = []string{o.Kernel}
	}
	dir, err := Selftests(ctx, b, o.Log)
	if err != nil {
		return "", err
	}
	o.QEMU = append(o.QEMU, "-drive", "if=none,id=disk,format=raw,readonly=on,file="+
		qemuWord(filepath.Join(dir, selftestDisk)),
		"-device", "virtio-blk-pci,drive=disk")
	o.Load = append(diskDrivers, o.Load...)
	o.CountEmulated, o.disk, o.MTU = true, true, selftestMTU
	p, err := newPlan(ctx, o.MachineOptions, o.Log)
	if err != nil {
		return "", wrap("prepare the guest", err)
	}
	defer p.close()
	k := newKeeper(func(ctx context.Context) (runner, error) {
		m, err := p.boot(ctx, o.Log)
		if err != nil {
			return nil, err // not a runner that is nil inside
		}
		return m, nil
	}, o.Log)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { k.loop(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	return p.what.Release, o.each(ctx, k, p.what.Release)
}

// qemuWord escapes a word of QEMU's option lists: commas are doubled.
func qemuWord(s string) string { return strings.ReplaceAll(s, ",", ",,") }

func (o *SelftestOptions) each(ctx context.Context, k *keeper, release string) error {
	for _, t := range o.Tests {
		o.Begin(t)
		began := time.Now()
		cases, err := o.one(ctx, k, t)
		if err != nil {
			return err
		}
		judged, err := kselftests.Judge(release, t.Name, cases)
		if err != nil {
			return err
		}
		o.Done(t, time.Since(began), judged)
	}
	return nil
}

// one runs a test and reads what it wrote.
func (o *SelftestOptions) one(ctx context.Context, k *keeper, t kselftests.Test) ([]kselftests.Case, error) {
	said := newTail(outputKept) // both of its outputs, in the order in which they come
	none := &cargo{}
	r := &request{
		job: guest.Job{Args: append([]string{"/init", "lab", "inside", "--limit=" + t.Time().String(), "--"},
			t.Args()...),
			Module: o.module()},
		timeout: slack * t.Time(),
		send:    none.write,
		receive: func(io.Reader) error { return nil },
		stdout:  said, stderr: said, log: o.Log, cargo: none,
	}
	out := k.run(ctx, r)
	if ctx.Err() != nil {
		return nil, &Error{Op: "run " + t.Name, Err: context.Cause(ctx)}
	}
	wrote := said.lines(math.MaxInt)
	if err := o.keep(t, wrote); err != nil {
		return nil, err
	}
	end := kselftests.End{Exit: out.exit}
	switch {
	case out.exit == ExitTimeout:
		end.Limit = t.Time()
	case out.err != nil && out.spoiled == "":
		return nil, out.err // of the lab: no machine could be had
	case out.err != nil:
		var e *Error
		if end.Kernel = out.err.Error(); errors.As(out.err, &e) {
			end.Kernel = e.Err.Error()
		}
	}
	return kselftests.Read(t.Name, string(wrote), end), nil
}

// keep writes what a test wrote to the folder for it.
func (o *SelftestOptions) keep(t kselftests.Test, wrote []byte) error {
	path := filepath.Join(o.Out, t.Log())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &Error{Op: "make the folder for results", Err: err}
	}
	return wrap("keep what "+t.Name+" wrote", writeFileAtomic(path, wrote, 0o644))
}
