// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// A queue that is leased to a container is still the NIC's: header split, rules, RSS, page pools
// and counters are those of the NIC, where it is. Only its memory is given to the container's
// interface, in the container's network namespace.

// lent is to whom a queue is leased.
type lent struct {
	nic.Lease
	path string // of the network namespace
}

// lentTo looks to whom a queue is leased: it must be an interface of the network namespace at a
// path; nil: the flow comes to no container.
func lentTo(mode string, d *nic.Device, q nic.Queue, path string) (*lent, error) {
	if path == "" {
		return nil, nil
	}
	is := q.Leased
	var err error
	if is {
		is, err = d.LeasedInto(q, path)
	}
	switch {
	case err != nil:
		return nil, Unsupported(mode, err)
	case !is:
		return nil, &fault.Unsupported{Mode: mode, Blocked: true,
			Op:  fmt.Sprintf("RX queue %d of %s is not leased to an interface of %s", q.ID, d.Name, path),
			Err: unix.ENXIO, How: "let zcbench lease it: --lease-queue " + fmt.Sprintf("%s:%d", d.Name, q.ID)}
	}
	return &lent{q.Lease, path}, nil
}

// Register calls f with the interface and the queue that memory is to be given to, on the calling
// thread and in the network namespace of the interface. The thread is the caller's own
// (runtime.LockOSThread).
func (q *Queue) Register(f func(index, queue int) error) error {
	if q.lent == nil {
		return f(q.Dev.Index, q.ID)
	}
	ns, err := veth.OpenNetns(q.lent.path)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Visit(func() error { return f(q.lent.Index, q.lent.Queue) })
}

// Bind gives the queue, and those beside it, a dmabuf, see [nic.Device.BindRXBuffers]. A queue that
// is lent has none beside it.
func (q *Queue) Bind(fd, bufLen int, beside ...int) (b *nic.Binding, err error) {
	if q.lent == nil {
		return q.Dev.BindRXBuffers(fd, bufLen, append([]int{q.ID}, beside...)...)
	}
	ns, err := veth.OpenNetns(q.lent.path)
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	err = ns.Do(func() error {
		l, err := rtnl.LinkAt(q.lent.Index)
		if err != nil {
			return err
		}
		d, err := nic.Open(l.Name)
		if err != nil {
			return err
		}
		b, err = d.BindRXBuffers(fd, bufLen, q.lent.Queue)
		return errors.Join(err, d.Close())
	})
	return b, err
}

// LeasedTo returns the queue of the container's interface that queue-get says the queue is leased
// to now; false: it is not leased to the flow's container, or the flow came to none.
func (q *Queue) LeasedTo() (id int, ok bool) {
	if q.lent == nil {
		return 0, false
	}
	now, err := q.Dev.Queue(q.ID)
	return now.Lease.Queue, err == nil && now.Leased && now.Lease == q.lent.Lease
}
