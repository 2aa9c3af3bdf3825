// SPDX-License-Identifier: MIT

package nicqueue

import "github.com/zcbench/zcbench/machine/nic"

// Join looks at a queue that another thread's ring has taken over, from the calling thread: it asks
// the interface by a socket of its own, steers flows there by rules of its own, which Release takes
// away, and leaves the queue to the other.
func Join(mode string, of *Queue) (*Queue, error) {
	q, err := Look(mode, of.Dev.Name, of.ID, of.LentAs())
	if err == nil {
		q.unsplit, q.unfenced = of.unsplit, of.unfenced
	}
	return q, err
}

// Look looks at queue id of an interface, and takes nothing; as is what it was lent as, to the
// flow's container ([Queue.LentAs]).
func Look(mode, dev string, id int, as *nic.Lease) (*Queue, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return nil, Unsupported(mode, err)
	}
	q := &Queue{mode: mode, Dev: d}
	if as != nil {
		q.lent = &lent{Lease: *as}
	}
	if q.Queue, err = d.Queue(id); err != nil {
		_ = d.Close()
		return nil, Unsupported(mode, err)
	}
	return q, nil
}

// LentAs returns what the queue is lent as to the container that the flow comes to; nil: it comes
// to none.
func (q *Queue) LentAs() *nic.Lease {
	if q.lent == nil {
		return nil
	}
	return &q.lent.Lease
}
