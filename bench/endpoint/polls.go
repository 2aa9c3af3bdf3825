// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/place"
)

// setPolls sets the NAPI instances of the end's queues as the cell polls. It comes after the paths
// are prepared: those that take queues over restart them, which may give these new instances.
func (e *End) setPolls() (err error) {
	want := e.spec.Cell.PollNAPI(e.spec.Role)
	if want == (nic.NAPISettings{}) || e.light {
		return nil
	}
	how := "poll " + e.spec.Cell.Poll
	dev := cmp.Or(e.opts.NIC.Dev, e.spec.Dev)
	if dev == "" {
		return &fault.Unsupported{Mode: e.spec.Mode(), Op: how + ": loopback has no queue that anybody could poll",
			How: "name an interface (--dev), or use poll irq", Blocked: true}
	}
	queues, err := e.queuesOf(dev)
	if err != nil {
		return err
	}
	e.polls, err = place.Poll(dev, place.Polling{NAPI: want, Queues: queues, CPU: e.softirqCPU})
	if b := (*lease.Busy)(nil); err == nil || errors.As(err, &b) {
		return err
	}
	blocked := errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EINVAL)
	return &fault.Unsupported{Mode: e.spec.Mode(), Op: how + ": " + fault.Reason(err), How: fault.Fix(err),
		Blocked: blocked}
}

// queuesOf lists the RX queues by which the end's flows will come; nil: any.
func (e *End) queuesOf(dev string) (ids []int, err error) {
	for _, f := range e.flows {
		if f.Queue != nil {
			ids = append(ids, *f.Queue)
		}
	}
	if len(ids) == len(e.flows) {
		return ids, nil
	}
	if !e.path.TakesQueue() || len(e.flows) > 1 {
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

// softirqCPU finds the CPU on which a queue's softirq was put.
func (e *End) softirqCPU(queue int) (cpu int, ok bool) {
	if e.place == nil {
		return 0, false
	}
	cpus := e.place.CPUsOf(&queue)
	return cpus[queue%len(cpus)], true
}

// checkPolls finds what somebody else has changed since.
func (e *End) checkPolls() error {
	if e.polls == nil {
		return nil
	}
	return e.polls.Check()
}

// undoPolls takes back how NAPI was set.
func (e *End) undoPolls() error {
	p := e.polls
	if e.polls = nil; p == nil {
		return nil
	}
	return p.Undo()
}
