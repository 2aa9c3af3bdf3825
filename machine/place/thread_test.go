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

// A veth is polled by a thread on the CPU that was named, and as before when that is over.
func TestIntegrationThreads(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	t.Setenv(lease.DirEnv, t.TempDir())
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	lacks := "" // said outside: who skips a test ends its goroutine, and that in there is another one
	err = p.SUT.Netns.Do(func() error {
		d, err := nic.Open(p.SUT.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		before, err := d.Feature("rx-gro")
		if err != nil {
			return err
		}
		placed, err := Threads(p.SUT.Dev, On(0))
		if errors.Is(err, unix.EOPNOTSUPP) {
			lacks = err.Error()
			return nil
		}
		if err != nil {
			return err
		}
		all, err := d.NAPIs()
		if err != nil {
			return err
		}
		if len(all) != 1 || all[0].Threaded != "on" || all[0].PID == 0 {
			t.Errorf("NAPI is %+v", all)
		}
		if err := placed.Check(); err != nil || !strings.Contains(placed.String(), "CPU 0") {
			t.Errorf("%v: %v", placed, err)
		}
		if _, err := Threads(p.SUT.Dev, On(0)); !errors.Is(err, unix.EBUSY) || fault.Fix(err) == "" {
			t.Errorf("a second one: %v", err)
		}
		if all, err = d.NAPIs(); err != nil || all[0].Threaded != "on" {
			t.Errorf("after a refusal NAPI is %+v, %v", all, err)
		}
		var wide unix.CPUSet
		wide.Set(0)
		wide.Set(1)
		if err := unix.SchedSetaffinity(all[0].PID, &wide); err != nil {
			return err
		}
		var now unix.CPUSet // of a machine with one CPU it is what it was
		if err := unix.SchedGetaffinity(all[0].PID, &now); err == nil && now.Count() > 1 {
			if err := placed.Check(); err == nil || fault.Fix(err) == "" {
				t.Errorf("its thread may run elsewhere: %v", err)
			}
		}
		if err := placed.Undo(); err != nil {
			return err
		}
		if after, err := d.Feature("rx-gro"); err != nil || after != before {
			t.Errorf("GRO is %v, was %v (%v)", after, before, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if lacks != "" {
		t.Skip(lacks)
	}
}

// A number that is some other process here, as a thread may have in a container, is not bound; nor
// is a thread of a kernel that has them for all queues alone.
func TestThreadsOfOthers(t *testing.T) {
	p := &Placement{Dev: "eth0"}
	if err := p.bind(os.Getpid(), 3, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("another process: %v", err)
	}
	if err := p.bindThread(nic.NAPI{PID: os.Getpid()}, 3, toCPU0); err != nil || p.threads != nil || p.words != nil {
		t.Errorf("of all queues: %v, %v %q", err, p.threads, p.words)
	}
}

// A kernel that does not tell how NAPI is polled is too old, and the error says which it takes.
func TestKernelWithoutThreads(t *testing.T) {
	p := &Placement{Dev: "veth0"}
	for name, x := range map[string]struct {
		all  []nic.NAPI
		want error
		fix  string
	}{
		"6.17":    {[]nic.NAPI{{NAPISettings: nic.NAPISettings{Threaded: "off"}}}, nil, ""},
		"older":   {[]nic.NAPI{{}}, unix.EOPNOTSUPP, "Linux 6.17"},
		"no NAPI": {nil, unix.EOPNOTSUPP, "ip link set veth0 up"},
		"another": {[]nic.NAPI{{NAPISettings: nic.NAPISettings{Threaded: "on"}}}, unix.EBUSY,
			"/sys/class/net/veth0/threaded"},
	} {
		err := p.canThread(x.all)
		if !errors.Is(err, x.want) || !strings.Contains(fault.Fix(err), x.fix) {
			t.Errorf("%s: %v; fix %q", name, err, fault.Fix(err))
		}
		if name == "older" && !strings.Contains(err.Error(), "this is Linux ") {
			t.Errorf("%v: the kernel is not named", err)
		}
	}
}
