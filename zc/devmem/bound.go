// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// bound is a dmabuf and the RX queues that take from it: one of a receiver alone; where one rule
// sends flows to several queues, all of these, of as many receivers. Kernel side: one binding has a
// pool of the memory, which all its queues take from (net_devmem_bind_dmabuf_to_queue of
// net/core/devmem.c).
type bound struct {
	shared  *stream.Shared // that it is found by; nil: it is of one receiver
	queues  []*nicqueue.Queue
	mem     *dmabuf.Memory
	binding *nic.Binding // nil: not yet

	users   int
	flowed  bool // some receiver had flows
	dropped bool // one of them did not end well
}

// join finds the memory that receivers of several queues have in common, or makes it.
func (r *Receiver) join() (err error) {
	s := r.opt.NIC.ByPort
	if s != nil {
		s.Lock()
		defer s.Unlock()
		if b, ok := s.Of.(*bound); ok && b.users > 0 {
			r.bound = b
		}
	}
	if r.bound == nil {
		r.bound = &bound{shared: s}
		if s != nil {
			s.Of = r.bound
		}
	}
	r.users++
	if r.mem == nil {
		if err := r.make(); err != nil {
			return err
		}
	}
	r.queue = r.queues[0]
	if s != nil && r.opt.NIC.Queue != nil {
		i := slices.IndexFunc(r.queues, func(q *nicqueue.Queue) bool { return q.ID == *r.opt.NIC.Queue })
		r.queue = r.queues[i]
	}
	return nil
}

// make takes the queues over and makes the memory for all of them.
func (r *Receiver) make() (err error) {
	all := []*int{r.opt.NIC.Queue}
	if r.opt.NIC.ByPort != nil && len(r.opt.NIC.Beside) > 0 {
		all = nil
		for _, id := range distinct(r.opt.NIC.Beside) {
			all = append(all, &id)
		}
	}
	for _, id := range all {
		o := r.opt.NIC
		o.Queue = id
		q, err := nicqueue.Take(Mode, o)
		if err != nil {
			return err
		}
		r.queues = append(r.queues, q)
	}
	if r.mem, err = newMemory(r.queues[0].Dev, r.opt.NIC, r.bufLen, len(r.queues)); err != nil {
		return nicqueue.NoMemory(Mode, err)
	}
	return nil
}

func distinct(queues []int) []int { return slices.Compact(slices.Sorted(slices.Values(queues))) }

// bind binds the queues to the memory, where no other receiver has done so.
func (r *Receiver) bind() (err error) {
	if s := r.shared; s != nil {
		s.Lock()
		defer s.Unlock()
	}
	if r.binding != nil {
		return nil
	}
	var beside []int
	for _, q := range r.queues[1:] {
		beside = append(beside, q.ID)
	}
	if r.binding, err = r.queues[0].Bind(r.mem.FD, r.asked(), beside...); err != nil {
		return r.explain(err)
	}
	if err := r.mem.Stays(); err != nil {
		return nicqueue.Unsupported(Mode, err)
	}
	for _, q := range r.queues {
		if err := q.Bound(nic.ProviderDMABuf); err != nil {
			return err
		}
		if q.DMABuf != r.binding.ID {
			return &fault.Unsupported{Mode: Mode, Op: fmt.Sprintf("RX %v of %s has binding %d, not %d", q.Queue,
				q.Dev.Name, q.DMABuf, r.binding.ID),
				Err: unix.EEXIST, How: "stop the other program that binds the queue"}
		}
	}
	return nil
}

// leave is a receiver's last word: ended, its flows ended well, if it had any (flowed). The last
// frees memory and queues.
func (b *bound) leave(ended, flowed bool) error {
	if b.shared != nil {
		b.shared.Lock()
		defer b.shared.Unlock()
	}
	b.flowed, b.dropped = b.flowed || flowed, b.dropped || !ended
	if b.users--; b.users > 0 {
		return nil
	}
	var errs []error
	if b.binding != nil {
		errs = append(errs, b.binding.Close())
		if b.flowed && !b.dropped {
			errs = append(errs, b.drained())
		}
	}
	for _, q := range slices.Backward(b.queues) {
		errs = append(errs, q.Release())
	}
	if b.mem != nil {
		errs = append(errs, b.mem.Close())
	}
	return errors.Join(errs...)
}

// inflight counts the buffers of the binding that are out of its page pools; known is false when
// there is no such pool.
func (b *bound) inflight() (n uint64, known bool, err error) {
	pools, err := b.queues[0].Dev.PagePools()
	for _, p := range pools {
		if p.Provider == nic.ProviderDMABuf && p.DMABuf == b.binding.ID {
			n, known = n+p.Inflight, true
		}
	}
	return n, known, err
}

// drainedWithin is how long buffers that are out may take to come back to their
// pool: it looks every second.
const drainedWithin = 3 * time.Second

// drained waits until all buffers are back in their pools, or the pools are gone.
func (b *bound) drained() error {
	for end := time.Now().Add(drainedWithin); ; time.Sleep(5 * time.Millisecond) {
		n, known, err := b.inflight()
		if err != nil || !known || n == 0 {
			return err
		}
		if time.Now().After(end) {
			return &fault.Error{Op: fmt.Sprintf(
				"%d buffers of RX queue %d had not returned to their pool %v after the flow", n, b.queues[0].ID,
				drainedWithin),
				How: "the kernel or driver has lost them: please report it"}
		}
	}
}
