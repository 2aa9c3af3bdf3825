// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// onVeth runs a function in the namespace of a veth, and skips what it says that the kernel lacks.
func onVeth(t *testing.T, f func(d *nic.Device) error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	t.Setenv(lease.DirEnv, t.TempDir())
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	err = p.SUT.Netns.Do(func() error {
		d, err := nic.Open(p.SUT.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		return f(d)
	})
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip(err) // outside: who skips a test ends its goroutine, and that in there is another one
	}
	if err != nil {
		t.Fatal(err)
	}
}

// withNAPI switches the NAPI of a veth on.
func withNAPI(d *nic.Device) error { return d.SetFeature("rx-gro", true) }

// toCPU0 binds every thread to CPU 0.
func toCPU0(int) (int, bool) { return 0, true }

// NAPI is set as it is wanted, what was deferred already stays, threads are bound, somebody else's
// are left alone, and all of it is put back.
func TestIntegrationPoll(t *testing.T) {
	onVeth(t, func(d *nic.Device) error {
		if _, err := Poll(d.Name, Polling{NAPI: nic.NAPISettings{DeferHardIRQs: 1}}); err == nil ||
			!strings.Contains(fault.Fix(err), "gro on") {
			t.Errorf("without NAPI: %v", err)
		}
		if err := withNAPI(d); err != nil {
			return err
		}
		before, err := d.NAPIOf(0)
		if err != nil {
			return err
		}
		found := before.NAPISettings
		found.GROFlushTimeoutNs = 7000
		if err := d.SetNAPI(before.ID, found); err != nil {
			return err
		}
		p, err := Poll(d.Name, Polling{NAPI: nic.NAPISettings{DeferHardIRQs: 100, GROFlushTimeoutNs: 50000,
			IRQSuspendNs: 9000000}, Queues: []int{0, 0}})
		if err != nil {
			return err
		}
		n, err := d.NAPIOf(0)
		if err != nil || n.DeferHardIRQs != 100 || n.GROFlushTimeoutNs != 7000 || n.IRQSuspendNs != 9000000 ||
			n.Threaded != found.Threaded {
			t.Errorf("NAPI is %v (%v)", n.NAPISettings, err)
		}
		if err := p.Check(); err != nil || !strings.Contains(p.String(), "irq-suspend-timeout 9000000") {
			t.Errorf("%v: %v", p, err)
		}
		other := n.NAPISettings
		other.DeferHardIRQs = 3
		if err := d.SetNAPI(n.ID, other); err != nil {
			return err
		}
		if err := p.Check(); err == nil || !strings.Contains(fault.Fix(err), "something else sets the NAPI") {
			t.Errorf("set by somebody else: %v", err)
		}
		if err := d.SetNAPI(n.ID, n.NAPISettings); err != nil {
			return err
		}
		if err := p.Undo(); err != nil {
			return err
		}
		if n, err = d.NAPIOf(0); err != nil || n.NAPISettings != found {
			t.Errorf("NAPI is %v (%v), was %v", n.NAPISettings, err, found)
		}
		return nil
	})
}

// A queue's thread is bound, and ends with what had it made. Threads of somebody else are in the
// way, and ones that never rest are refused where they would be several.
func TestIntegrationPollByThread(t *testing.T) {
	onVeth(t, func(d *nic.Device) error {
		if err := withNAPI(d); err != nil {
			return err
		}
		how := Polling{NAPI: nic.NAPISettings{Threaded: "on"}, CPU: toCPU0}
		p, err := Poll(d.Name, how)
		if err != nil {
			return err
		}
		n, err := d.NAPIOf(0)
		if err != nil || n.Threaded != "on" || n.PID == 0 {
			t.Errorf("NAPI is %+v (%v)", n, err)
		}
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(n.PID, &set); err != nil || set.Count() != 1 || !set.IsSet(0) {
			t.Errorf("its thread may run on %v (%v)", set, err)
		}
		if err := p.Check(); err != nil || !strings.Contains(p.String(), "its thread is bound to CPU 0") {
			t.Errorf("%v: %v", p, err)
		}
		if _, err := Poll(d.Name, how); !errors.Is(err, unix.EBUSY) || fault.Fix(err) == "" {
			t.Errorf("a second one: %v", err)
		}
		if err := p.Undo(); err != nil {
			return err
		}
		if n, err = d.NAPIOf(0); err != nil || n.Threaded != "off" || n.PID != 0 {
			t.Errorf("NAPI is %+v (%v)", n, err)
		}
		return nil
	})
	p := &Placement{Dev: "lo"}
	for name, x := range map[string]struct {
		want nic.NAPISettings
		says string
	}{"6.12": {nic.NAPISettings{DeferHardIRQs: 1, IRQSuspendNs: 1}, "Linux 6.13"},
		"6.16": {nic.NAPISettings{Threaded: "busy-poll"}, "Linux 6.19"}} {
		if err := p.pollAll(x.want); !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What cannot be taken back after a failure is told as that.
func TestIntegrationLeft(t *testing.T) {
	onVeth(t, func(d *nic.Device) error {
		if err := withNAPI(d); err != nil {
			return err
		}
		p, err := Poll(d.Name, Polling{NAPI: nic.NAPISettings{DeferHardIRQs: 5}})
		if err != nil {
			return err
		}
		n, err := d.NAPIOf(0)
		if err != nil {
			return err
		}
		n.DeferHardIRQs = 7
		if err := d.SetNAPI(n.ID, n.NAPISettings); err != nil {
			return err
		}
		l := (*Left)(nil)
		if err := p.undone(unix.EINVAL); !errors.As(err, &l) ||
			!strings.HasPrefix(err.Error(), "invalid argument; and") ||
			!strings.Contains(fault.Fix(err), "something else sets the NAPI") {
			t.Errorf("%v; fix %q", err, fault.Fix(err))
		}
		if p, err = Poll(d.Name, Polling{NAPI: nic.NAPISettings{GROFlushTimeoutNs: 9}}); err != nil {
			return err
		}
		if err := p.undone(unix.EINVAL); err != error(unix.EINVAL) {
			t.Errorf("nothing is left: %v", err)
		}
		return nil
	})
}

// Where instances cannot be set one by one, the interface's files are, and put back. Else these are
// refused: they would overwrite what each instance had.
func TestIntegrationPollBySysfs(t *testing.T) {
	onVeth(t, func(d *nic.Device) error {
		if err := withNAPI(d); err != nil {
			return err
		}
		p := &Placement{Dev: d.Name, By: byNAPI, dev: d, lease: lease.New(lease.Options{})}
		p.lease.Use(d)
		n, err := d.NAPIOf(0)
		if err != nil {
			return err
		}
		n.DeferHardIRQs = 3
		if err := d.SetNAPI(n.ID, n.NAPISettings); !errors.Is(err, unix.EOPNOTSUPP) {
			for _, file := range []string{sysDefer, sysFlush, sysThreaded} {
				if file == sysThreaded && n.Threaded == "" {
					continue
				}
				err := p.lease.Apply(lease.Want{Dev: d.Name, Name: "sysfs " + file, Value: "1"})
				if err == nil || !strings.Contains(fault.Fix(err), "napi QUEUE") {
					t.Errorf("%s: %v", file, err)
				}
			}
			if now, err := d.NAPIOf(0); err != nil || now.NAPISettings != n.NAPISettings {
				t.Errorf("NAPI is %v (%v), was %v", now.NAPISettings, err, n.NAPISettings)
			}
			return p.lease.Restore()
		}
		if err := p.pollAll(nic.NAPISettings{DeferHardIRQs: 5, GROFlushTimeoutNs: 60000, Threaded: "on"}); err != nil {
			return err
		}
		files := func(want ...string) {
			t.Helper()
			for i, file := range []string{sysDefer, sysFlush, sysThreaded} {
				if v, err := d.SysFile(file); err != nil || v != want[i] {
					t.Errorf("%s is %q (%v), want %q", file, v, err, want[i])
				}
			}
		}
		files("5", "60000", "1")
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		if err := p.lease.Restore(); err != nil {
			return err
		}
		files("0", "0", "0")
		return nil
	})
}
