// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// byThread is the way of [Threads].
const byThread = "napi-thread"

// ByThreads reports whether kernel threads poll the interface, as [Threads] has it.
func (p *Placement) ByThreads() bool { return p != nil && p.By == byThread }

// Threads makes kernel threads poll interface dev, bound to the CPUs that are wanted: for frames
// that a program takes from the driver, which RPS never sees, of interfaces without interrupts. A
// veth gets NAPI by GRO. It needs root, and Linux 6.17. What was changed is restored by Undo, or,
// when this process dies before, as package lease restores; the threads end with that.
func Threads(dev string, want Want) (*Placement, error) {
	cpus := want.all()
	if len(cpus) == 0 {
		return nil, fmt.Errorf("have threads poll %s: no CPU is named", dev)
	}
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	p := &Placement{Dev: dev, CPUs: cpus, Queues: want.Queues, By: byThread, dev: d, lease: lease.New(lease.Options{})}
	if err := p.thread(); err != nil {
		return nil, p.undone(err)
	}
	return p, nil
}

func (p *Placement) thread() error {
	if err := p.lease.Start(); err != nil {
		return err
	}
	p.lease.Use(p.dev)
	all, err := p.dev.NAPIs()
	if errors.Is(err, unix.EOPNOTSUPP) { // before 6.8
		return tooOld(p.Dev)
	}
	if err == nil && len(all) == 0 { // a veth has none without
		if err = p.lease.Apply(lease.Want{Dev: p.Dev, Name: "feature rx-gro", Value: "on"}); err == nil {
			all, err = p.dev.NAPIs()
		}
	}
	if err != nil {
		return err
	}
	if err := p.canThread(all); err != nil {
		return err
	}
	queues, err := p.dev.Queues()
	if err != nil {
		return err
	}
	for i, q := range queues {
		cpu, own := p.Queues[q.ID]
		if !own {
			cpu = p.CPUs[i%len(p.CPUs)]
		}
		if err := p.threadOf(q, cpu); err != nil {
			return err
		}
	}
	return nil
}

// canThread refuses what cannot be done, or belongs to somebody else.
func (p *Placement) canThread(all []nic.NAPI) error {
	op := "have threads poll " + p.Dev
	switch {
	case len(all) == 0:
		return &fault.Error{Op: op + ": it has no NAPI", Err: unix.EOPNOTSUPP, How: "set it up (ip link set " +
			p.Dev + " up), or leave the CPU layout out"}
	case slices.ContainsFunc(all, func(n nic.NAPI) bool { return n.Threaded == "" }):
		return tooOld(p.Dev)
	case slices.ContainsFunc(all, func(n nic.NAPI) bool { return n.Threaded != "off" }):
		return &fault.Error{Op: op + ": threads already poll it", Err: unix.EBUSY,
			How: "they may be bound to CPUs on purpose: turn that off (echo 0 > /sys/class/net/" + p.Dev +
				"/threaded), or leave the CPU layout out"}
	}
	return nil
}

// tooOld makes the error that the kernel has no threads for single instances of NAPI.
func tooOld(dev string) error {
	var u unix.Utsname
	_ = unix.Uname(&u) // cannot fail
	return &fault.Error{Op: fmt.Sprintf("have threads poll %s: it has no interrupts to move, as a veth has none, "+
		"so a CPU layout for frames needs threads of NAPI that are set one by one (napi-set threaded, Linux "+
		"6.17), and this is Linux %s", dev, unix.ByteSliceToString(u.Release[:])),
		Err: unix.EOPNOTSUPP, How: "use Linux 6.17 or later, leave the CPU layout out (the figures are then of " +
			"both ends on one CPU), or take NICs, whose interrupts are moved"}
}

// threadOf gives a queue its thread on a CPU.
func (p *Placement) threadOf(q nic.Queue, cpu int) error {
	n, err := p.dev.NAPIOf(q.ID)
	if err != nil {
		return err
	}
	if n.Threaded != "on" { // another queue may have the same instance
		s := n.NAPISettings
		s.Threaded = "on"
		if err := p.lease.Apply(lease.Want{Dev: p.Dev, Name: fmt.Sprintf("napi %d", q.ID),
			Value: s.String()}); err != nil {
			return err
		}
		if n, err = p.dev.NAPIOf(q.ID); err != nil {
			return err
		}
	}
	return p.bind(n.PID, q.ID, cpu)
}

// bind binds thread pid, which polls a queue, to a CPU. The kernel tells its number as of the first
// PID namespace: in another one none, or some other process, may have that.
func (p *Placement) bind(pid, queue, cpu int) error {
	if !pollsNAPI(pid) {
		pid = 0
	}
	return p.pin(pid, queue, cpu)
}

// pin binds a thread whose number is known; 0: it is not.
func (p *Placement) pin(pid, queue, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	err := error(unix.ESRCH)
	if pid != 0 {
		err = unix.SchedSetaffinity(pid, &set)
	}
	if err != nil {
		return remedy.Error(remedy.PinKernel, fmt.Sprintf("bind the thread that polls queue %d of %s to CPU %d", queue,
			p.Dev, cpu), err,
			remedy.On{Dev: p.Dev, Value: strconv.Itoa(cpu)})
	}
	p.threads = append(p.threads, threadOn{pid, cpu})
	return nil
}

// pollsNAPI reports whether a process is a thread of NAPI, by its name (napi_kthread_create of
// net/core/dev.c).
func pollsNAPI(pid int) bool {
	name, err := kernelfile.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.HasPrefix(string(name), "napi/")
}

// threadOn is a thread, and the CPU that it was bound to.
type threadOn struct{ pid, cpu int }

// checkThreads finds threads that are bound elsewhere by now, or gone.
func (p *Placement) checkThreads() error {
	for _, t := range p.threads {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(t.pid, &set); err != nil {
			return remedy.Error(remedy.PinnedWhere, fmt.Sprintf("the thread %d that polled %s is gone", t.pid, p.Dev),
				err, remedy.On{Dev: p.Dev})
		}
		if set.Count() != 1 || !set.IsSet(t.cpu) {
			return &fault.Error{Op: fmt.Sprintf(
				"the thread %d that polls %s was bound to CPU %d, but may now run on %s", t.pid, p.Dev, t.cpu,
				counter.FormatCPUList(cpusOf(&set))), How: "something else moves it: tuned, irqbalance, or taskset"}
		}
	}
	return nil
}
