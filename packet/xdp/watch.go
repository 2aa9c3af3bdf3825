// SPDX-License-Identifier: MIT

package xdp

import (
	"time"

	"github.com/zcbench/zcbench/flow/stream"
)

const (
	// wakeEvery is how soon the path's thread sees that counts could not be read.
	wakeEvery = 250 * time.Millisecond
	// sentWithin is when a frame that was counted has been sent back or refused: at the end of
	// the poll that counted it, which takes at most 64 frames.
	sentWithin = 2 * time.Millisecond
)

// watch waits until the sender has ended the flow. A program, or the kernel, counts what comes, and
// whoever wants to know reads it: a thread that did so every few milliseconds on the CPU that takes
// the frames would take 2 % of its time.
func (r *receiver) watch(c *stream.Conn, m *stream.Meter) error {
	m.ReadBy(func() { r.refresh(m) })
	defer m.ReadBy(nil)
	var end stream.EndWatch
	for {
		over, err := end.Look(c)
		if err == nil {
			err = r.failed()
		}
		if err != nil {
			return err
		}
		if over {
			m.ReadBy(nil)
			return r.settle(c, m)
		}
		m.Wait()
		end.Wait(c, wakeEvery)
	}
}

// refresh counts what has come. Anybody may call it.
func (r *receiver) refresh(m *stream.Meter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.err != nil {
		return
	}
	var sent Counts
	if r.counter != nil {
		sent = Sum(r.counter.Read())
	}
	if r.after.looks() {
		time.Sleep(sentWithin)
	}
	r.err = r.look(m, sent)
}

func (r *receiver) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// look counts what has come since the last look. sentBy is described at [after.came].
func (r *receiver) look(m *stream.Meter, sentBy Counts) (err error) {
	var n uint64
	switch {
	case r.counter != nil:
		now := Sum(r.counter.Read())
		came, err := r.after.came(r.rung, sentBy, now)
		if err != nil {
			return err
		}
		came = max(came, r.came)
		n, r.came, r.counted = came-r.came, came, now
	case r.sock != nil:
		was := r.dropped
		if r.dropped, err = r.sock.Dropped(); err != nil {
			return err
		}
		n = r.dropped - was
	}
	r.count(m, n)
	return nil
}
