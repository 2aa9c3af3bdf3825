// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/place"
)

// polling is how the NAPI instances of an interface were set.
type polling interface {
	Check() error
	Undo() error
	String() string
}

// setPolls sets the NAPI instances of the end's queues as the cell polls. It comes after the paths
// are prepared: those that take queues over restart them, which may give these new instances.
func (e *End) setPolls() (err error) {
	want := e.spec.Cell.PollNAPI(e.spec.Role)
	if want == (nic.NAPISettings{}) || e.light {
		return nil
	}
	devs := e.nicDevs()
	if len(devs) == 0 {
		devs = e.spec.Devs()
	}
	for _, dev := range devs {
		if err := e.setPollsOf(dev, want); err != nil {
			return err
		}
	}
	return nil
}

func (e *End) setPollsOf(dev string, want nic.NAPISettings) error {
	how := "poll " + e.spec.Cell.Poll
	if dev == "" {
		return &fault.Unsupported{Mode: e.spec.Mode(), Op: how + ": loopback has no queue that anybody could poll",
			How: "name an interface (--dev), or use poll irq", Blocked: true}
	}
	if e.places[dev].ByThreads() {
		return e.pollsByLayout(dev, want)
	}
	queues, err := e.queuesOf(dev)
	if err != nil {
		return err
	}
	p, err := place.Poll(dev, place.Polling{NAPI: want, Queues: queues, CPU: func(queue int) (int, bool) {
		return e.softirqCPU(dev, queue)
	}})
	if err == nil {
		e.polls = append(e.polls, p)
	}
	if err == nil || undeniable(err) {
		return err
	}
	blocked := errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EINVAL)
	return &fault.Unsupported{Mode: e.spec.Mode(), Op: how + ": " + fault.Reason(err), How: fault.Fix(err),
		Blocked: blocked}
}

// pollsByLayout accepts the threads by which the CPU layout has an interface polled that has no
// interrupts, where they are what the cell wants.
func (e *End) pollsByLayout(dev string, want nic.NAPISettings) error {
	if want.Threaded == "on" {
		return nil
	}
	return &fault.Unsupported{Mode: e.spec.Mode(), Op: "poll " + e.spec.Cell.Poll + ": " + dev +
		" has no interrupts, so that the CPU layout has it polled by threads that rest",
		How: "use poll threaded, or leave the CPU layout out", Blocked: true}
}

// undeniable reports whether an error is more than that something cannot be had on this host:
// another process has the interface, or something of it was left changed.
func undeniable(err error) bool {
	b, l := (*lease.Busy)(nil), (*place.Left)(nil)
	return errors.As(err, &b) || errors.As(err, &l)
}

// queuesOf lists the RX queues by which the end's flows will come; nil: any.
func (e *End) queuesOf(dev string) (ids []int, err error) {
	n := 0
	for _, f := range e.flows {
		if cmp.Or(f.opts.NIC.Dev, f.port.Dev) != dev {
			continue
		}
		if n++; f.Queue != nil {
			ids = append(ids, *f.Queue)
		}
	}
	if len(ids) == n {
		return ids, nil
	}
	if !e.path.TakesQueue() || n > 1 {
		return nil, nil
	}
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.Queues()
	if err != nil || len(all) == 0 {
		return nil, fmt.Errorf("find the last RX queue of %s: %w", dev, cmp.Or(err, error(unix.ENOENT)))
	}
	return []int{all[len(all)-1].ID}, nil // as its path chooses
}

// softirqCPU finds the CPU on which the softirq of an interface's queue was put.
func (e *End) softirqCPU(dev string, queue int) (cpu int, ok bool) {
	p := e.places[dev]
	if p == nil {
		return 0, false
	}
	cpus := p.CPUsOf(&queue)
	return cpus[queue%len(cpus)], true
}

// endPolls finds what somebody else has changed of how NAPI was set, and takes it back, once. It
// comes before paths are freed: that restarts queues, whose instances may be new ones then.
func (e *End) endPolls() error {
	e.polling.over.Do(func() {
		for _, p := range e.polls {
			e.polling.moved = cmp.Or(e.polling.moved, p.Check())
		}
		for _, p := range slices.Backward(e.polls) {
			e.polling.left = errors.Join(e.polling.left, p.Undo())
		}
	})
	return e.polling.left
}
