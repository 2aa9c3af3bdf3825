// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// Share prepares queue *o.Queue of o.Dev for the flow of a mode that takes no queue over: it is
// kept free of other flows, and [Queue.Steer] steers the flow to it, as of a mode that does. Its
// memory stays the driver's, and header split as it is.
func Share(mode string, o stream.NICQueue) (*Queue, error) {
	q := &Queue{mode: mode, byPort: o.ByPort != nil}
	if err := q.share(o); err != nil {
		return nil, errors.Join(err, q.Release())
	}
	return q, nil
}

func (q *Queue) share(o stream.NICQueue) (err error) {
	if q.Dev, err = nic.Open(o.Dev); err != nil {
		return Unsupported(q.mode, err)
	}
	if q.Queue, err = q.Dev.Queue(*o.Queue); err != nil {
		return Unsupported(q.mode, err)
	}
	if o.Inside != "" { // the flow may come by a queue that is not leased, too: it takes no memory there
		is, err := q.Dev.LeasedInto(q.Queue, o.Inside)
		if err != nil {
			return Unsupported(q.mode, err)
		}
		if is {
			q.lent = &lent{q.Queue.Lease, o.Inside}
		}
	}
	if q.Queue, err = awaitFree(q.mode, q.Dev, q.Queue, q.lent); err != nil {
		return err
	}
	if err := q.changes.AllowRules(q.Dev); err != nil {
		return Unsupported(q.mode, err)
	}
	return q.keepFree(o.Beside)
}

// Expect makes queue id, to which a rule for the port has brought the flow, the one by which it is
// to come.
func (q *Queue) Expect(id int) (err error) {
	q.Queue, err = q.Dev.Queue(id)
	return err
}
