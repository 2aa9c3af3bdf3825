// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// choose finds the queue to take over, and to which container it is leased.
func (q *Queue) choose(o stream.NICQueue) (id nic.Queue, to *lent, err error) {
	if o.Inside == "" {
		id, err = chooseQueue(q.mode, q.Dev, o.Queue)
		return id, nil, err
	}
	if id, err = q.Dev.Queue(*o.Queue); err != nil {
		return id, nil, blocked(Unsupported(q.mode, err))
	}
	if err := firstQueue(q.mode, q.Dev, id.ID); err != nil {
		return id, nil, err
	}
	if to, err = lentTo(q.mode, q.Dev, id, o.Inside); err != nil {
		return id, nil, err
	}
	id, err = awaitFree(q.mode, q.Dev, id, to)
	return id, to, err
}

// chooseQueue finds the queue to take over: the one asked for, else the last,
// which drivers and irqbalance favour least.
func chooseQueue(mode string, d *nic.Device, want *int) (nic.Queue, error) {
	all, err := d.Queues()
	if err != nil {
		return nic.Queue{}, Unsupported(mode, err)
	}
	if len(all) == 0 {
		return nic.Queue{}, noQueues(mode, d.Name)
	}
	q := all[len(all)-1]
	if want != nil {
		if q, err = d.Queue(*want); err != nil {
			return q, blocked(Unsupported(mode, err))
		}
	}
	if err := firstQueue(mode, d, q.ID); err != nil {
		return q, err
	}
	return awaitFree(mode, d, q, nil)
}

// blocked marks a refusal that is of what was asked for, or of the state of the host: no feature
// is missing.
func blocked(err error) error {
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		u.Blocked = true
	}
	return err
}

func noQueues(mode, dev string) error {
	return &fault.Unsupported{Mode: mode, Op: dev + " shows no RX queues", How: "bring it up: ip link set " + dev +
		" up; or use a driver with queue operations"}
}

// freeWithin is how long a queue that is taken may take to become free: the
// kernel closes the ring of a process that has ended in its own time.
const freeWithin = time.Second

// awaitFree waits a moment for a queue that is taken.
func awaitFree(mode string, d *nic.Device, q nic.Queue, to *lent) (nic.Queue, error) {
	for end := time.Now().Add(freeWithin); ; time.Sleep(10 * time.Millisecond) {
		err := available(mode, d, q, to)
		if err == nil || tape.Replaying() || time.Now().After(end) {
			return q, err
		}
		if q, err = d.Queue(q.ID); err != nil {
			return q, Unsupported(mode, err)
		}
	}
}

// available returns an error for a queue that cannot be taken over, by what it is used for. It may
// be leased to whom it is taken over for.
func available(mode string, d *nic.Device, q nic.Queue, to *lent) error {
	switch {
	case q.Provider == nic.ProviderXSK:
		return &fault.Unsupported{Mode: mode, Blocked: true, Op: fmt.Sprintf("RX queue %d of %s is used by AF_XDP",
			q.ID, d.Name), Err: unix.EBUSY, How: "choose another with --queue, or stop the program that holds it"}
	case q.Leased && (to == nil || q.Lease != to.Lease):
		return &fault.Unsupported{Mode: mode, Blocked: true,
			Op: fmt.Sprintf("RX queue %d of %s is leased to a virtual interface", q.ID, d.Name), Err: unix.EBUSY,
			How: "choose another with --queue"}
	case q.Provider != nic.ProviderNone:
		return &fault.Unsupported{Mode: mode, Blocked: true, Op: fmt.Sprintf("RX %v of %s is already taken", q, d.Name),
			Err: unix.EEXIST,
			How: "choose another with --queue, or stop the program that holds it"}
	}
	return nil
}
