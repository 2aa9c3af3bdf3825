// SPDX-License-Identifier: MIT

package nicqueue

import "github.com/zcbench/zcbench/machine/nic"

// Join looks at a queue that another thread's ring has taken over, from the calling thread: it asks
// the interface by a socket of its own, steers flows there by rules of its own, which Release takes
// away, and leaves the queue to the other.
func Join(mode string, of *Queue) (*Queue, error) {
	q, err := Look(mode, of.Dev.Name, of.ID)
	if err == nil {
		q.unsplit, q.unfenced = of.unsplit, of.unfenced
	}
	return q, err
}

// Look looks at queue id of an interface, and takes nothing.
func Look(mode, dev string, id int) (*Queue, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return nil, Unsupported(mode, err)
	}
	q := &Queue{mode: mode, Dev: d}
	if q.Queue, err = d.Queue(id); err != nil {
		_ = d.Close()
		return nil, Unsupported(mode, err)
	}
	return q, nil
}
