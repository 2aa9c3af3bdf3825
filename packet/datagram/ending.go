// SPDX-License-Identifier: MIT

package datagram

import (
	"time"

	"github.com/zcbench/zcbench/flow/stream"
)

// waitMs bounds one sleep, so that the end of a flow, or of a run, is noticed.
const waitMs = 100

// quiet is for how long nothing may come after the sender has ended the flow: then what is missing
// was lost.
const quiet = waitMs * time.Millisecond

// ending finds the end of a flow. The sender says how many datagrams there were, by a connection
// which they may overtake and which may overtake them.
type ending struct {
	watch stream.EndWatch
	told  bool
	came  uint64
	since time.Time
	last  uint64 // that had come when something did
}

// idle reports, after a call that brought no datagram, whether none will come.
func (e *ending) idle(c *stream.Conn, m *stream.Meter) (over bool, err error) {
	silent, err := e.look(c, m)
	return silent || e.told && m.Came() >= c.Sent, err
}

// busy reports, after a call that brought something, whether nothing new will come: datagrams that
// are not the flow's, or that come again, need never cease. A call that brought something new costs
// nothing here.
func (e *ending) busy(c *stream.Conn, m *stream.Meter) (over bool, err error) {
	if came := m.Came(); came != e.last {
		e.last = came
		return false, nil
	}
	return e.look(c, m)
}

// look reports whether the sender has ended the flow, and nothing new has come for long enough.
func (e *ending) look(c *stream.Conn, m *stream.Meter) (silent bool, err error) {
	if err := c.Aborted(); err != nil {
		return false, err
	}
	came := m.Came()
	if !e.told {
		if e.told, err = e.watch.Look(c); err != nil || !e.told {
			return false, err
		}
		e.came, e.since = came, time.Now()
	}
	if came != e.came {
		e.came, e.since = came, time.Now()
	}
	return time.Since(e.since) >= quiet, nil
}
