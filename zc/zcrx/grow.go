// SPDX-License-Identifier: MIT

package zcrx

import (
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// growth is how the memory that the NIC has grew (ZCRX_CTRL_ADD_AREA, 7.3).
type growth struct {
	wanted bool // somebody found no buffer since it grew
	at     []int64
	bytes  []float64 // that the NIC has had since then
	took   time.Duration
	until  time.Time // of a ring whose own flows have ended
}

// canGrow reports whether there is more to give to the NIC. Of several rings the first gives it.
func (r *Receiver) canGrow() bool {
	return r.area.start > 0 && r.buffers()*r.z.BufLen() < int(r.area.Size)
}

// buffers returns how many buffers the NIC has of the area: a ring that joined the queue is told.
func (r *Receiver) buffers() int {
	if r.share != nil && r.ringOf() > 0 {
		if n := atomic.LoadUint64(&r.share.board[hasBuffers]); n > 0 {
			return int(n)
		}
	}
	return r.z.Buffers()
}

// wantMore asks for more than the NIC has: the first ring sees that before it sleeps again.
func (r *Receiver) wantMore() {
	if r.ringOf() > 0 {
		atomic.StoreUint64(&r.share.board[tooFew], uint64(r.buffers()))
	}
	r.growth.wanted = r.ringOf() == 0
}

// othersWantMore reports whether another ring found no buffer to copy to among those that the NIC
// has now.
func (r *Receiver) othersWantMore() bool {
	return r.share != nil && r.area.start > 0 &&
		atomic.LoadUint64(&r.share.board[tooFew]) == uint64(r.z.Buffers())
}

// growsForOthers reports whether the first ring, whose flows have ended, still has memory for rings
// whose flows go on. It waits for them no longer than they are waited for at the end.
func (r *Receiver) growsForOthers() bool {
	if r.share == nil || r.ringOf() > 0 || !r.canGrow() || r.first().conn.Aborted() != nil ||
		r.share.board.sum(ringEnded, r.share.n) == uint64(r.share.n-1) {
		return false
	}
	if r.growth.until.IsZero() {
		r.growth.until = time.Now().Add(endsWithin)
	}
	return time.Now().Before(r.growth.until)
}

// growIfWanted gives the NIC as much memory again as it has, if it found no buffer, or the kernel
// none to copy to. Memory that cannot be had ends the flow: it was asked for.
func (r *Receiver) growIfWanted() error {
	if r.ringOf() > 0 || !r.growth.wanted && !r.othersWantMore() {
		return nil
	}
	r.growth.wanted = false
	if !r.canGrow() {
		return nil
	}
	begun := time.Now()
	if _, err := r.z.Grow(); err != nil {
		return nicqueue.NoMemory(r.mode, err)
	}
	r.growth.took += time.Since(begun)
	r.growth.note(r.z)
	if r.share != nil {
		atomic.StoreUint64(&r.share.board[hasBuffers], uint64(r.z.Buffers()))
		r.share.board.strike()
	}
	if r.idle.told && r.canGrow() {
		r.idle.told = false
		_ = r.z.ArmEvent(uring.ZcrxAllocFail) // refused only when it is armed
	}
	return nil
}

// note writes down how much the NIC has from now on.
func (g *growth) note(z *uring.Zcrx) {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail on Linux
	g.at, g.bytes = append(g.at, t.Nano()), append(g.bytes, float64(z.Buffers()*z.BufLen()))
}

// grew adds to the evidence when the NIC's memory grew, and to how much.
func (r *Receiver) grew(e *stream.Evidence, figure func(name, unit string, v float64)) {
	if r.area.start == 0 || r.opt.NIC.Ring > 0 {
		return
	}
	g := &r.growth
	figure("zcrx_growths", "1", float64(len(g.at)-1))
	figure("zcrx_growing_us", "us", float64(g.took.Nanoseconds())/1e3)
	figure(measure.MetricAreaBytes, "bytes", g.bytes[len(g.bytes)-1])
	e.Courses = append(e.Courses, stream.Course{Name: measure.MetricAreaBytes, Unit: "bytes", AtNs: g.at, V: g.bytes})
}
