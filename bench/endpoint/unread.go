// SPDX-License-Identifier: MIT

package endpoint

import (
	"sync"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/rounds"
	"github.com/zcbench/zcbench/machine/measure"
	"golang.org/x/sys/unix"
)

// A look at a socket waits for a call that has it locked, so no round has many.
const (
	unreadEvery  = 5 * time.Millisecond
	unreadLooks  = 16
	fewestUnread = 10 // looks, that tell anything
)

// unreadWatch looks whether payload of flows lies unread in their sockets, where the receiver
// writes it to files: one that sleeps then waits for its writes.
type unreadWatch struct {
	rounds       *rounds.Watch
	once         sync.Once
	looks, there []int
}

// watchUnread begins in the window, and ends with it.
func (r *run) watchUnread() {
	if r.end.spec.Role != stream.RX || r.end.spec.Cell.WritesTo() == "" || r.sch.ToNs <= 0 {
		return
	}
	r.unread = newUnreadWatch(r.end.sockets())
	r.unread.rounds.Start(unreadEvery)
}

func newUnreadWatch(fds []int) *unreadWatch {
	w := &unreadWatch{looks: make([]int, len(fds)), there: make([]int, len(fds))}
	w.rounds = rounds.New(len(fds), unreadLooks, func(i int) {
		n, err := unix.IoctlGetInt(fds[i], unix.SIOCINQ)
		if err != nil {
			return
		}
		if w.looks[i]++; n > 0 {
			w.there[i]++
		}
	})
	return w
}

// stop ends the watch before the sockets are closed; it may be called again, and of nil.
func (w *unreadWatch) stop() {
	if w != nil {
		w.once.Do(w.rounds.Stop)
	}
}

// metrics tells it of each flow, after the watch was stopped; nil tells nothing.
func (w *unreadWatch) metrics() (ms []measure.Metric) {
	if w == nil {
		return nil
	}
	for i, looks := range w.looks {
		m := measure.Metric{Name: measure.MetricThenUnread, Unit: "1", Source: "SIOCINQ every 5 ms"}
		if len(w.looks) > 1 {
			m.Name = measure.FlowMetric(i, m.Name)
		}
		if m.Value = float64(w.there[i]) / float64(max(looks, 1)); looks >= fewestUnread {
			ms = append(ms, m)
		}
	}
	return ms
}
