// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// byNAPI is the way of [Poll].
const byNAPI = "napi"

// Polling says how the NAPI instances of an interface's RX queues are to be set.
type Polling struct {
	// NAPI has what is wanted of each: where interrupts are deferred already, or suspended, that
	// stays as it is; zero values are left as found.
	NAPI   nic.NAPISettings
	Queues []int // nil: all
	// CPU is where a queue's thread is bound to; ok is false where it is bound to none, and the
	// queue's interrupt decides, if that goes to one CPU.
	CPU func(queue int) (cpu int, ok bool)
}

// Poll sets how the NAPI instances of interface dev are polled, one by one (netdev napi-set, Linux
// 6.13; threads of each 6.17, that never rest 6.19), or before these kernels all of the interface
// (sysfs). It binds the threads that it makes. What was changed is restored by Undo, or, when this
// process dies before, as package lease restores.
func Poll(dev string, how Polling) (*Placement, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	p := &Placement{Dev: dev, By: byNAPI, dev: d, lease: lease.New(lease.Options{})}
	if err := p.poll(how); err != nil {
		return nil, p.undone(err)
	}
	return p, nil
}

func (p *Placement) poll(how Polling) error {
	if err := p.lease.Start(); err != nil {
		return err
	}
	p.lease.Use(p.dev)
	if err := p.pollable(); err != nil {
		return err
	}
	queues, err := p.queuesToPoll(how)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if err := p.pollQueue(q, how.NAPI); err != nil {
			return err
		}
	}
	if how.NAPI.Threaded == "" {
		return nil
	}
	for _, q := range queues {
		n, err := p.dev.NAPIOf(q)
		if err == nil {
			err = p.bindThread(n, q, how.CPU)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pollable refuses an interface that nobody could poll, and one that threads of somebody else do.
func (p *Placement) pollable() error {
	op := "poll the queues of " + p.Dev
	all, err := p.dev.NAPIs()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return &fault.Error{Op: op + ": the kernel does not tell its NAPI instances", Err: unix.EOPNOTSUPP,
			How: "use Linux 6.8 or later, or poll irq"}
	case err != nil:
		return err
	case len(all) == 0:
		return &fault.Error{Op: op + ": it has no NAPI instance now", Err: unix.EOPNOTSUPP,
			How: "bring it up (ip link set " + p.Dev + " up); a veth has one with GRO on alone (ethtool -K " + p.Dev +
				" gro on, and tso off at its other end)"}
	}
	threaded := slices.ContainsFunc(all, func(n nic.NAPI) bool { return n.Threaded != "" && n.Threaded != "off" })
	if whole, err := p.dev.SysFile(sysThreaded); err == nil && all[0].Threaded == "" {
		threaded = whole != "0"
	}
	if threaded {
		return &fault.Error{Op: op + ": threads already poll it", Err: unix.EBUSY,
			How: "they may be there on purpose: turn that off (echo 0 > /sys/class/net/" + p.Dev +
				"/threaded, or napi of --set), or use poll irq, which leaves it as found"}
	}
	return nil
}

// queuesToPoll lists the queues that are wanted.
func (p *Placement) queuesToPoll(how Polling) (ids []int, err error) {
	if how.Queues != nil {
		return slices.Compact(slices.Sorted(slices.Values(how.Queues))), nil
	}
	queues, err := p.dev.Queues()
	for _, q := range queues {
		ids = append(ids, q.ID)
	}
	if err == nil && len(ids) > 1 && how.NAPI.Threaded == busyThread {
		err = &fault.Error{Op: fmt.Sprintf("have threads that never rest poll %s: it has %d RX queues, and flows may "+
			"come by any of them", p.Dev, len(ids)), Err: unix.EINVAL,
			How: "steer them (queue: N), or give it one queue (channels: 1): else each queue costs a CPU"}
	}
	return ids, err
}

// busyThread is a thread that never rests, as [nic.NAPISettings] has it.
const busyThread = "busy-poll"

// pollQueue sets the instance of a queue.
func (p *Placement) pollQueue(queue int, want nic.NAPISettings) error {
	n, err := p.dev.NAPIOf(queue)
	if err != nil {
		return err
	}
	s := n.NAPISettings
	keep := func(v *int64, want int64) {
		if *v == 0 {
			*v = want
		}
	}
	deferred := int64(s.DeferHardIRQs)
	keep(&deferred, int64(want.DeferHardIRQs))
	s.DeferHardIRQs = int(deferred)
	keep(&s.GROFlushTimeoutNs, want.GROFlushTimeoutNs)
	keep(&s.IRQSuspendNs, want.IRQSuspendNs)
	if want.Threaded != "" {
		if s.Threaded == "" {
			return p.pollAll(want)
		}
		s.Threaded = want.Threaded
	}
	err = p.lease.Apply(lease.Want{Dev: p.Dev, Name: fmt.Sprintf("napi %d", queue), Value: s.String()})
	if errors.Is(err, unix.EOPNOTSUPP) { // before 6.13
		return p.pollAll(want)
	}
	if err == nil {
		p.words = append(p.words, fmt.Sprintf("NAPI of RX queue %d: %v", queue, s))
	}
	return err
}

// The files of an interface in sysfs that are for all its instances.
const (
	sysDefer    = "napi_defer_hard_irqs" // 5.8
	sysFlush    = "gro_flush_timeout"
	sysThreaded = "threaded" // 5.12
)

// pollAll sets all instances of the interface, where the kernel has no way to set one.
func (p *Placement) pollAll(want nic.NAPISettings) error {
	switch {
	case want.IRQSuspendNs != 0:
		return tooOldFor(p.Dev, "suspends no interrupts (napi-set irq-suspend-timeout, Linux 6.13)")
	case want.Threaded == busyThread:
		return tooOldFor(p.Dev, "has no NAPI threads that never rest (napi-set threaded, Linux 6.19)")
	}
	for _, x := range []struct {
		file, value string
		is          bool
	}{{sysDefer, fmt.Sprint(want.DeferHardIRQs), want.DeferHardIRQs > 0},
		{sysFlush, fmt.Sprint(want.GROFlushTimeoutNs), want.GROFlushTimeoutNs > 0},
		{sysThreaded, "1", want.Threaded != ""}} {
		if !x.is {
			continue
		}
		found, err := p.dev.SysFile(x.file)
		if err == nil && found == "0" {
			err = p.lease.Apply(lease.Want{Dev: p.Dev, Name: "sysfs " + x.file, Value: x.value})
			p.words = append(p.words, "all NAPI of "+p.Dev+": "+x.file+" "+x.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func tooOldFor(dev, lacks string) error {
	return &fault.Error{Op: "poll the queues of " + dev + ": this kernel " + lacks, Err: unix.EOPNOTSUPP,
		How: "use a kernel that does, or another way to poll"}
}

// bindThread binds the thread that polls a queue: to the CPU that is wanted, or else to that of the
// queue's interrupt, where it is one. Without either the scheduler chooses.
// So it does where threads are not told one by one (before 6.17): they outlive what had them made.
func (p *Placement) bindThread(n nic.NAPI, queue int, at func(int) (int, bool)) error {
	if n.Threaded == "" {
		return nil
	}
	cpu, ok := at(queue)
	if !ok {
		if cpu, ok = p.ofInterrupt(queue); !ok {
			return nil
		}
	}
	if err := p.bind(n.PID, queue, cpu); err != nil {
		return err
	}
	p.words = append(p.words, fmt.Sprintf("its thread is bound to CPU %d", cpu))
	return nil
}

// ofInterrupt finds the CPU to which a queue's interrupt goes, where it is one.
func (p *Placement) ofInterrupt(queue int) (cpu int, ok bool) {
	irq, err := p.dev.IRQOf(queue)
	if err != nil {
		return 0, false
	}
	list, err := nic.IRQAffinity(irq)
	if err != nil {
		return 0, false
	}
	cpus, err := counter.ParseCPUList(list)
	if err != nil || len(cpus) != 1 {
		return 0, false
	}
	return cpus[0], true
}

// polled words how the instances were set, for people.
func (p *Placement) polled() string {
	const most = 4
	if len(p.words) > most {
		return strings.Join(p.words[:most], "; ") + fmt.Sprintf("; and %d more", len(p.words)-most)
	}
	return strings.Join(p.words, "; ")
}
