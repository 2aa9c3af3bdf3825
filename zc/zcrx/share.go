// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// share is what the rings of a queue have together: the first ring's path makes it.
type share struct {
	n      int // rings
	z      uring.ZcrxShare
	area   *area
	areaFD int             // the area's memory, for other processes; -1: there are none
	queue  *nicqueue.Queue // the first ring's
	board  board
	mem    *uring.Memory // of the board
	memFD  int

	joined sync.WaitGroup // rings but the first
}

// board is what all rings of a queue write and read, also those of other processes.
type board []uint64

// What is on a board, and of each ring from its own line on.
const (
	claimed    = 0 // of the bytes that the kernel counted as copied, what rings have booked
	elsewhere  = 1 // flows that go on, and were last seen on another queue
	allocFails = 2 // times that the kernel told that the NIC found no buffer

	pooled      = 3 // poolTold or poolSilent, when the first ring has asked the queue's page pools
	poolBuffers = 4
	poolUnseen  = 5

	hasBuffers = 6 // that the NIC has of the area since it grew; 0: as at first
	tooFew     = 7 // as many as it had when a ring that joined found none to copy to

	bell = 8 // see strike
	dry  = 9 // rings that wait for a buffer to copy to

	ringTaken  = 0 // bytes
	ringCopied = 1
	ringHeld   = 2 // bytes that its application has, and has not given back
	ringEnded  = 3
	line       = 8 // words, so that rings do not write on each other's
	shared     = 2 // lines, of what is not one ring's
)

const (
	poolTold = 1 + iota
	poolSilent
)

const boardBytes = 8 * line * (shared + stream.MaxRings)

func (b board) of(ring, what int) *uint64 { return &b[line*(shared+ring)+what] }

// end tells the others that a ring has ended.
func (b board) end(ring int) {
	atomic.StoreUint64(b.of(ring, ringEnded), 1)
	b.strike()
}

// claim takes from the bytes that the kernel counted as copied, and that no ring has booked yet, at
// most so many.
func (b board) claim(counter, most uint64) uint64 {
	for {
		had := atomic.LoadUint64(&b[claimed])
		n := min(counter-min(counter, had), most)
		if n == 0 || atomic.CompareAndSwapUint64(&b[claimed], had, had+n) {
			return n
		}
	}
}

// sum adds up a figure of all rings, or of those before one.
func (b board) sum(what, before int) (n uint64) {
	for i := range before {
		n += atomic.LoadUint64(b.of(i, what))
	}
	return n
}

// offer lets other rings join the queue.
func (r *Receiver) offer() (err error) {
	s := &share{n: r.opt.NIC.Rings.N, area: r.area, areaFD: -1, memFD: -1, queue: r.queue}
	s.z.FD = -1
	r.share, r.opt.NIC.Rings.Owner = s, s
	if s.mem, s.memFD, err = uring.NewSharedMemory(boardBytes); err != nil {
		return err
	}
	s.board = s.mem.Words()
	if s.areaFD, err = r.area.fd, nil; r.opt.NIC.Rings.Processes && s.areaFD < 0 {
		return fmt.Errorf("memory of kind %q cannot be shared with another process", r.area.kind)
	}
	if s.z, err = r.z.Share(); err != nil {
		return nicqueue.Unsupported(r.mode, err)
	}
	return nil
}

// withdraw waits until the other rings are gone, and lets nobody join any more.
func (s *share) withdraw() error {
	if s == nil {
		return nil
	}
	s.joined.Wait()
	err := s.mem.Close()
	for _, fd := range []int{s.z.FD, s.memFD} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}

// join makes a ring that shares the queue of another.
func (r *Receiver) join(s *share) (err error) {
	s.joined.Add(1)
	r.share, r.area = s, s.area
	if r.queue, err = nicqueue.Join(r.mode, s.queue); err != nil {
		return err
	}
	if r.opt.NIC.Rings.Processes {
		return r.startProcess(r.queue.Dev.Name, r.queue.ID, r.queue.LentAs())
	}
	if r.view, err = dmabuf.NewView(s.area.Memory, r.looksHow()); err != nil {
		return err
	}
	return r.importRing(s.z, s.area.Bytes)
}

// importRing makes the ring and lets it join.
func (r *Receiver) importRing(z uring.ZcrxShare, area []byte) (err error) {
	if err = r.makeRing(); err != nil {
		return err
	}
	if r.z, err = r.ring.ImportZcrx(z, area); err != nil {
		return nicqueue.Unsupported(r.mode, err)
	}
	r.begins(queryKernel())
	return nil
}

// ringOf is the ring's number on the board.
func (r *Receiver) ringOf() int { return r.opt.NIC.Ring }

// onBoard tells the others how far the ring is.
func (r *Receiver) onBoard() {
	if s := r.share; s != nil {
		for i, w := range r.shown {
			r.members[i].meter.Show(w)
			w[shownEnd] = uint64(r.members[i].flow.EndNs())
		}
		atomic.StoreUint64(s.board.of(r.ringOf(), ringTaken), r.proof.taken)
		atomic.StoreUint64(s.board.of(r.ringOf(), ringCopied), r.proof.copied)
		atomic.StoreUint64(s.board.of(r.ringOf(), ringHeld), uint64(r.held.Bytes()))
	}
}

// seenElsewhere tells the others that so many more of the ring's flows come by another queue.
func (r *Receiver) seenElsewhere(more int) {
	if r.share != nil && more != 0 {
		atomic.AddUint64(&r.share.board[elsewhere], uint64(more))
	}
}

// anyElsewhere reports whether a flow of the queue that goes on was last seen on another one.
func (r *Receiver) anyElsewhere() bool {
	if r.share != nil {
		return atomic.LoadUint64(&r.share.board[elsewhere]) > 0
	}
	for _, m := range r.members {
		if m.elsewhere && !m.ended {
			return true
		}
	}
	return false
}

// endRing gives back what is left, and tells the others that the ring has ended. One that failed
// waits for none of them.
func (r *Receiver) endRing(err error) {
	r.failed = err != nil
	if r.share == nil {
		return
	}
	if r.process != nil { // also where it was killed
		r.share.board.end(r.ringOf())
		return
	}
	if !r.failed {
		r.giveBackAll(r.members[0].meter)
	}
	r.onBoard()
	for _, m := range r.members {
		if m.elsewhere && !m.ended {
			r.seenElsewhere(-1)
		}
	}
	r.share.board.end(r.ringOf())
}

// giveBackAll gives back all that the ring has gathered. Where the refill ring is full the kernel
// empties it. A ring that was killed while it wrote there keeps the others out: see uring.
func (r *Receiver) giveBackAll(m *stream.Meter) {
	const tries = 100
	for range tries {
		if r.z.Publish(); r.z.Unposted() == 0 {
			return
		}
		r.flush(m)
	}
}

// endsWithin is how long a ring whose flows have ended waits for the others, whose senders were
// told to stop when its own were.
const endsWithin = 10 * time.Second

// awaitAll waits until all rings have ended: what the queue's page pools tell is of all of them.
func (s *share) awaitAll() bool {
	return s.board.until(endsWithin, func() bool { return s.board.sum(ringEnded, s.n) == uint64(s.n) })
}

// lookAtPool finds out what the queue's page pools handed out in all: the first ring asks, and the
// others wait for what it writes on the board.
func (r *Receiver) lookAtPool() {
	b, n := r.share.board, r.share.n
	b.end(r.ringOf()) // also where it never began
	r.pool.looked = true
	if r.ringOf() > 0 {
		if r.failed {
			return
		}
		if !b.until(2*endsWithin, func() bool { return atomic.LoadUint64(&b[pooled]) != 0 }) {
			return
		}
		r.pool.known = atomic.LoadUint64(&b[pooled]) == poolTold
		r.pool.buffers, r.pool.unseen = atomic.LoadUint64(&b[poolBuffers]), atomic.LoadUint64(&b[poolUnseen])
		return
	}
	told := uint64(poolSilent)
	if !r.failed && r.share.awaitAll() {
		if r.pool.buffers, r.pool.known = r.queue.Buffers(); r.pool.known {
			all := proof{taken: b.sum(ringTaken, n), copied: b.sum(ringCopied, n)}
			r.pool.unseen, told = all.unseen(r.pool.buffers, r.z.BufLen()), poolTold
		}
	}
	atomic.StoreUint64(&b[poolBuffers], r.pool.buffers)
	atomic.StoreUint64(&b[poolUnseen], r.pool.unseen)
	atomic.StoreUint64(&b[pooled], told)
	b.strike()
}

// awaitBuffers waits until some may be free again: another ring of the queue says when it has given
// back some. Where there is none, only what comes to the ring can tell of a change.
func (r *Receiver) awaitBuffers(m *stream.Meter) {
	if r.share == nil {
		r.nap(m)
		return
	}
	m.Wait()
	b := r.share.board
	atomic.AddUint64(&b[dry], 1)
	b.wait(b.heard(), backlogTime)
	atomic.AddUint64(&b[dry], ^uint64(0))
}

// publish gives back what is in the refill ring, and wakes who waits for it.
func (r *Receiver) publish() {
	r.z.Publish()
	if r.share != nil && atomic.LoadUint64(&r.share.board[dry]) > 0 {
		r.share.board.strike()
	}
}

// claimsBefore returns how many bytes the rings before this one, and all of them, claim not to be
// copied.
func (r *Receiver) claimsBefore() (before, all uint64) {
	if s := r.share; s != nil {
		return s.board.sum(ringTaken, r.ringOf()) - s.board.sum(ringCopied, r.ringOf()),
			s.board.sum(ringTaken, s.n) - s.board.sum(ringCopied, s.n)
	}
	return 0, r.proof.taken - r.proof.copied
}

// othersHold says what the other rings of the queue hold; "": nothing.
func (r *Receiver) othersHold() string {
	if r.share == nil {
		return ""
	}
	var all []string
	for i := range r.rings() {
		if n := atomic.LoadUint64(r.share.board.of(i, ringHeld)); n > 0 && i != r.ringOf() {
			all = append(all, fmt.Sprintf("ring %d holds %d bytes", i, n))
		}
	}
	return strings.Join(all, ", ")
}

// ofRing adds what the ring itself proves: all rings' figures add up to the queue's.
func (r *Receiver) ofRing(figure func(name, unit string, v float64)) {
	if r.share == nil {
		return
	}
	figure("zcrx_ring", "1", float64(r.ringOf()))
	figure("zcrx_ring_bytes", "bytes", float64(r.proof.taken))
	figure("zcrx_ring_copied_bytes", "bytes", float64(r.proof.copied))
	if r.shown != nil {
		figure("zcrx_ring_process", "1", float64(os.Getpid()))
	}
}

// receiveShared receives one flow by a ring of a queue that others share: as of several flows.
func (r *Receiver) receiveShared(c *stream.Conn, m *stream.Meter) (err error) {
	defer func() { r.endRing(err) }()
	r.grouped = true
	r.members[0].flow, r.members[0].meter = &stream.Flow{Conn: c}, m
	if r.process == nil {
		if err := r.armMember(0); err != nil {
			return err
		}
	}
	return r.receiveAll()
}

// rings returns how many share the queue.
func (r *Receiver) rings() int {
	if r.share == nil {
		return 1
	}
	return r.share.n
}

// newSharedArea allocates pages for payload that other processes can map.
func newSharedArea(size int) (*area, error) {
	mem, fd, err := uring.NewSharedMemory(size)
	if err != nil {
		return nil, err
	}
	a := &area{kind: dmabuf.Pages, fd: fd,
		Memory: &dmabuf.Memory{FD: -1, Size: int64(size), Bytes: mem.Bytes(), Plain: true}}
	a.Closes(func() error { return errors.Join(mem.Close(), unix.Close(fd)) })
	return a, nil
}

// whose is the queue's device where there is one.
func (r *Receiver) whose() *nic.Device {
	if r.queue == nil {
		return nil
	}
	return r.queue.Dev
}
