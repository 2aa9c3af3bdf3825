// SPDX-License-Identifier: MIT

package stream

import (
	"time"

	"github.com/zcbench/zcbench/flow/sock"
)

// Gathering is for receivers without a ring what min_wait_usec is for those with one
// (uring.Ring.SubmitAndGather): when a receiver has taken all that was there, it sleeps for a
// while whatever comes, and then takes what has come with one call. Nothing there by then, the
// first byte ends the wait.
//
// SO_RCVLOWAT with a deadline would need SO_RCVTIMEO, which counts whole jiffies, up to 10 ms
// (sock_set_timeout of net/core/sock.c, Linux 7.3.4), and moves the receive window too. So this
// is a timed sleep: one system call more than the ring's, for each time it gathers.
type Gathering struct {
	time time.Duration
	Nap  func() // sleeps; tests put another in its place
	naps uint64
}

// NewGathering makes the gathering of a receiver with these options.
func NewGathering(o Options) *Gathering {
	return &Gathering{time: o.Gather, Nap: sock.NewNapper(o.Gather).Nap}
}

// Let sleeps for the gathering time, when payload was taken and no more is there.
func (g *Gathering) Let(m *Meter) {
	if g.time == 0 {
		return
	}
	g.naps++
	g.Nap()
	m.Wait()
}

// Figures say for how long it gathers, and how often it did.
func (g *Gathering) Figures() []Figure { return gatherFigures(g.time, g.naps) }

func gatherFigures(d time.Duration, waits uint64) []Figure {
	return []Figure{{"gather_us", "us", float64(d) / float64(time.Microsecond)}, {"gather_waits", "1", float64(waits)}}
}
