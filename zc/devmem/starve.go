// SPDX-License-Identifier: MIT

package devmem

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// idle is since when the flow has brought nothing, and how often its queue had
// wanted for a buffer by then.
type idle struct {
	since time.Time
	lost  uint64
	known bool // the driver has such counters
	looks int  // how often they were looked at
}

func (i *idle) flowing() { i.since = time.Time{} }

// idleTick runs when a sleep brought no payload. When there has been none for a while, it gives the
// NIC what has been gathered. It distinguishes a NIC without buffers from a sender without data.
func (r *Receiver) idleTick(c *stream.Conn, m *stream.Meter) error {
	if c.Turns.Off() {
		return nil
	}
	if r.idle.since.IsZero() {
		r.idle.since = time.Now()
		r.idle.looks++
		r.idle.lost, r.idle.known = r.queue.Lost()
	}
	idle := time.Since(r.idle.since)
	if c.Aborted() != nil || idle < waitTime {
		return nil
	}
	if err := r.tokens.giveRipe(r.fd, m); err != nil {
		return err
	}
	if idle < nicqueue.StarvedAfter || !r.wanted() {
		return nil
	}
	pieces, bytes := r.heldAll()
	op := fmt.Sprintf("starved: the NIC finds no buffer in RX queue %d: the application holds %d fragments, %d "+
		"bytes in all, of %d bytes of memory",
		r.queue.ID, pieces, bytes, int(r.mem.Size))
	how := "hold less (--hold), or give the NIC more memory (--area-size)"
	if pieces == 0 {
		op += "; the rest is in the socket, behind packets that were lost"
		how = "give the NIC more memory (--area-size), or allow less data in flight (--rcvbuf)"
	}
	if what, fix := r.queue.Unsplit(); what != "" {
		op, how = op+"; "+what, fix+"; or "+how
	}
	return &fault.Error{Op: op, How: how}
}

// spare returns how many buffers may be left, in the pool's own cache and in pieces, when a NIC
// finds none; of few, fewer.
func spare(all int) int { return min(64, all/4) }

// wanted reports whether the NIC wants for a buffer: it did during the idle time,
// or all memory is out and the application has it. A NIC that holds packets back
// until it has buffers again counts nothing.
func (r *Receiver) wanted() bool {
	if now, _ := r.queue.Lost(); r.idle.known && now > r.idle.lost {
		return true
	}
	all := int(r.mem.Size) / r.bufLen
	most := all - spare(all)
	if pieces, _ := r.heldAll(); pieces < most { // a long buffer may have several fragments: the pool decides
		return false
	}
	out, known, err := r.inflight()
	return err != nil || !known || int(out) >= most
}

// rest runs at the end of a turn: when all has come, it gives the NIC what has been gathered, and
// sleeps until something comes, or well into the next turn. Nothing of it runs in others' turns.
func (r *Receiver) rest(c *stream.Conn, m *stream.Meter) error {
	if !c.Turns.Ends() {
		return nil
	}
	came, errno := r.waiter.WaitFor(r.fd, unix.POLLIN, stream.TurnQuiet)
	m.Wait()
	if errno != 0 || came != 0 { // an error is the read's to tell
		return nil
	}
	if err := r.tokens.giveRipe(r.fd, m); err != nil {
		return err
	}
	_, _ = r.waiter.WaitFor(r.fd, unix.POLLIN, c.Turns.Rest())
	m.Wait()
	return nil
}

// restAll does so for all flows of a queue: it waits for what comes, and returns how many flows
// have something.
func (r *Receiver) restAll(w *sock.WaiterOfAll, shared *stream.Meter) (n int, errno unix.Errno, err error) {
	turns := r.all[0].conn.Turns
	if !turns.Ends() {
		n, errno = w.Wait(turns.Nap(waitTime))
		return n, errno, nil
	}
	if n, errno = w.Wait(stream.TurnQuiet); n > 0 || errno != 0 {
		return n, errno, nil
	}
	for _, o := range r.all {
		if o.ended {
			continue
		}
		if err := o.tokens.giveRipe(o.fd, o.meter); err != nil {
			return 0, 0, stream.OfFlow(o.n, err)
		}
	}
	shared.Wait()
	n, errno = w.Wait(turns.Rest())
	return n, errno, nil
}
