// SPDX-License-Identifier: MIT

package zcrx

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/held"
	"github.com/zcbench/zcbench/zc/uringzc"
	"golang.org/x/sys/unix"
)

// onward passes the payload of a flow on without a copy (then: forward): the NIC that sends reads
// it from the memory into which the NIC that received wrote it. Pieces go out by SENDMSG_ZC from
// the area, which is a registered buffer, too; one request at a time, because several on one stream
// may overtake each other. A piece goes back to the refill ring when the kernel has let go of it,
// as the notification of its request says. With then: write, a [disk.Queue] has the pieces, which
// writes several at a time and from the same buffer, and says which may go back.
//
// What is out of the NIC's hands is bounded: the receive request is for so many bytes, and the next
// one is issued when there is room for what it may bring. What is not asked for stays in the
// socket, whose window holds the sender back.
type onward struct {
	out   *stream.Onward
	vec   uring.Vector
	ahead []piece // came, and belongs, but for so many, to no batch yet
	began int
	batch [batches]batch
	free  []int

	sending   int  // the batch that is being sent; -1: none
	flying    bool // its request has not completed
	submitted bool // nothing waits to be submitted
	owed      int  // batches that are not back yet

	asked, got int  // bytes, of the receive request, and that it has brought
	armed      bool // it has not ended
	most       int  // pieces that may be out of the NIC's hands
	pieces     int  // that are

	fate     uringzc.Fates
	requests uint64

	file *disk.Queue // by which it is written to a file; nil: it is sent
}

// batch is what one request sends: or several, where the kernel takes less than all.
type batch struct {
	pieces [batchPieces]piece
	n      int
	back   int    // of them, that have gone back
	bytes  int    // of all
	sent   int    // of them, that the kernel took
	last   uint64 // by the last request
	owed   bool   // its notification has not come
}

type piece struct {
	off uint64
	n   uint32
}

const (
	batches     = 64
	batchPieces = 256 // a MiB of pages
	// userSend is the user data of the first batch's requests; each next one's is one more.
	userSend = 1 << 8
	// leastPiece is how long pieces are taken to be when their bytes are asked for, so that as many
	// come as there is room for.
	leastPiece = 1 << 10
)

// PassOn registers the area as a buffer to send from.
func (r *Receiver) PassOn(out *stream.Onward, _ *stream.Meter) error {
	if r.area.FD >= 0 {
		return &fault.Unsupported{Mode: r.mode, Op: "send, or write to a file, from a dmabuf by io_uring",
			Err: unix.EOPNOTSUPP, How: "use --area pages or huge; to send, also --rx devmem"}
	}
	if err := r.ring.RegisterBuffers([][]byte{r.area.Bytes}); err != nil {
		return &fault.Unsupported{Mode: r.mode, Op: "register the area to send or write from", Err: err,
			How: fault.Fix(err)}
	}
	most, err := r.mayKeep(r.z.Buffers(), r.z.RefillEntries())
	if err != nil {
		return err
	}
	o := &onward{out: out, ahead: make([]piece, 0, held.Max), sending: -1, submitted: true, most: most}
	for i := range o.batch {
		o.free = append(o.free, i)
	}
	if out.File != nil {
		o.file = disk.NewQueue(out.File, r.ring, r.area.Bytes, 0, userSend, 2*held.Max)
	}
	r.onward = o
	return nil
}

// mayKeep returns how many pieces may be out of the NIC's hands. Where the kernel cannot be told to
// take them back, the refill ring has room for so many: else all wait for a NIC that takes nothing,
// because nothing is asked for.
func (r *Receiver) mayKeep(buffers, entries int) (most int, err error) {
	most = min(buffers/4, held.Max/2)
	if !r.flushes && entries < most {
		return 0, &fault.Unsupported{Mode: r.mode, Op: fmt.Sprintf("pass on what %d buffers bring, with a refill "+
			"ring of %d entries", buffers, entries), Err: unix.EOPNOTSUPP,
			How: fmt.Sprintf("give it %d entries (--refill-entries), or use Linux 6.19 or later", most)}
	}
	return most, nil
}

// passOn takes payload and passes it on until the sender ends the flow and all has left.
func (r *Receiver) passOn(c *stream.Conn, m *stream.Meter) error {
	o := r.onward
	for !r.ended || o.pieces > 0 {
		r.ask()
		o.send(r)
		if err := r.enterOnward(m); err != nil {
			return stream.ReceiveError(c, "io_uring recv_zc, and sendmsg_zc or writev", err)
		}
		bytes, err := r.takeOnward(c, m)
		if err == nil {
			err = r.growIfWanted()
		}
		if err != nil {
			return err
		}
		if err := c.Aborted(); err != nil {
			return err
		}
		if bytes > 0 || o.pieces > 0 {
			r.idle.since = time.Time{}
		} else if err := r.idleTick(c); err != nil {
			return err
		}
	}
	return nil
}

// ask issues the receive request, if there is room for what it may bring.
func (r *Receiver) ask() {
	o := r.onward
	room := o.most - o.pieces
	if o.armed || r.ended || room < o.most/4 {
		return
	}
	o.armed, o.submitted = true, false
	o.asked, o.got = room*leastPiece, 0
	r.ring.GetSQE().RecvZCUpTo(r.fd, r.z.ID(), o.asked, userRecv)
}

// send sends what is left of a batch, or the next.
func (o *onward) send(r *Receiver) {
	switch {
	case o.file != nil:
		if n := o.file.Issue(); n > 0 {
			o.submitted = false
			o.requests += uint64(n)
		}
		return
	case o.flying:
		return
	case o.sending < 0:
		if !o.gather() {
			return
		}
	case o.batch[o.sending].owed: // it took less than all: its word on that comes first
		return
	}
	b := &o.batch[o.sending]
	o.vec.Empty()
	skip := b.sent
	for _, p := range b.pieces[:b.n] {
		k := min(skip, int(p.n))
		if skip -= k; k == int(p.n) {
			continue
		}
		at := int(r.z.Where(&[2]uint64{p.off})) + k
		o.vec.Add(r.area.Bytes[at : at+int(p.n)-k])
	}
	r.ring.GetSQE().SendVectorZC(o.out.Conn.FD, 0, &o.vec, unix.MSG_NOSIGNAL|unix.MSG_WAITALL, true,
		userSend+uint64(o.sending))
	o.flying, o.submitted = true, false
	o.requests++
}

// gather makes a batch of what has come; false: nothing has, or too many batches are out.
func (o *onward) gather() bool {
	if len(o.ahead) == 0 || len(o.free) == 0 {
		return false
	}
	o.sending = o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	b := &o.batch[o.sending]
	*b = batch{}
	b.n = copy(b.pieces[:], o.ahead[o.began:])
	for _, p := range b.pieces[:b.n] {
		b.bytes += int(p.n)
	}
	if o.began += b.n; o.began == len(o.ahead) {
		o.ahead, o.began = o.ahead[:0], 0
	}
	o.owed++
	return true
}

// push adds a piece that came, and lies so far into the area. Their number has no bound, as it has
// for bytes: short ones may be many, and behind them in the completion queue is what lets older
// ones go.
func (o *onward) push(p piece, at int) {
	o.pieces++
	if o.file != nil {
		o.file.Push(p.off, at, int(p.n))
		return
	}
	if len(o.ahead) == cap(o.ahead) && o.began >= len(o.ahead)/2 {
		o.ahead, o.began = o.ahead[:copy(o.ahead, o.ahead[o.began:])], 0
	}
	o.ahead = append(o.ahead, p)
}

// enterOnward submits what is to be submitted, and sleeps if there is nothing to do.
func (r *Receiver) enterOnward(m *stream.Meter) error {
	o := r.onward
	if o.submitted && r.ring.CQReady() > 0 {
		return nil
	}
	m.Call()
	o.submitted = true
	if _, err := r.ring.SubmitAndGetEvents(); err != nil || r.ring.CQReady() > 0 {
		return err
	}
	r.look(m)
	m.Wait()
	nap := waitTime
	if o.returning() {
		nap = backlogTime
	}
	_, err := r.ring.SubmitAndWait(1, nap)
	return err
}

// returning reports whether pieces wait for room in the refill ring.
func (o *onward) returning() bool {
	if o.file != nil {
		return o.file.Waits()
	}
	for i := range o.batch {
		if b := &o.batch[i]; b.done() && b.back < b.n {
			return true
		}
	}
	return false
}

// done reports whether the kernel has let go of all pieces of a batch.
func (b *batch) done() bool { return b.n > 0 && b.sent == b.bytes && !b.owed }

// takeOnward handles the completions that are there.
func (r *Receiver) takeOnward(c *stream.Conn, m *stream.Meter) (bytes int, err error) {
	o, looks := r.onward, r.opt.Touch != stream.TouchNone
	d := r.ring.Drain()
	for err == nil && d.Next() {
		cqe := d.CQE()
		switch {
		case cqe.UserData == userEvent:
			r.event(uring.ZcrxEvent(cqe.Res))
		case cqe.UserData >= userSend:
			err = o.handle(*cqe, m)
		case cqe.More():
			at := int(r.z.Where(d.Extra()))
			if looks {
				err = r.view.Next(r.touch, at, int(cqe.Res), m)
			}
			o.push(piece{d.Extra()[0], uint32(cqe.Res)}, at)
			o.got += int(cqe.Res)
			bytes += int(cqe.Res)
			r.stats.pieces++
		case cqe.Errno() == 0 && o.got == o.asked: // as much as was asked for
			o.armed = false
		default:
			o.armed = false
			_, err = r.judge(c, *cqe, m)
		}
	}
	d.Done()
	if verr := r.view.End(m); err == nil {
		err = verr
	}
	if bytes > 0 {
		m.Bytes(bytes)
		if r.proof.taken == 0 {
			r.look(m)
		}
		_, copied := r.z.Copies()
		r.proof.account(uint64(bytes), copied, m)
	}
	if o.giveBack(func(p piece) bool { return r.takesBack(p, m) }) {
		r.z.Publish()
	}
	r.flushIfCopying(m)
	return bytes, err
}

// handle books a completion of a send request, or its notification.
func (o *onward) handle(cqe uring.CQE, m *stream.Meter) error {
	if o.file != nil {
		n, way, err := o.file.Done(&cqe)
		o.out.Wrote(n, way)
		return err
	}
	b := &o.batch[cqe.UserData-userSend]
	if cqe.Notif() {
		b.owed = false
		if b.last == 0 {
			return nil
		}
		switch o.fate.Of(b.last, cqe.Copied()) {
		case uringzc.Copied:
			o.out.Meter.Copied(b.last)
		case uringzc.Sent:
			o.out.Meter.ZeroCopy(b.last)
		}
		o.out.Meter.Completion(1, cqe.Copied())
		return nil
	}
	o.flying = false
	b.last, b.owed = uint64(max(cqe.Res, 0)), cqe.More()
	b.sent += int(b.last)
	o.out.Meter.Bytes(int(b.last))
	if b.sent == b.bytes {
		o.sending = -1
	}
	if errno := cqe.Errno(); errno != 0 {
		return o.out.Again("io_uring sendmsg_zc", errno)
	}
	return nil
}

// giveBack gives the pieces back that the kernel has let go of, as long as it takes them.
func (o *onward) giveBack(takes func(piece) bool) (any bool) {
	if o.file != nil {
		return o.file.Back(func(off uint64, n int) bool {
			if !takes(piece{off, uint32(n)}) {
				return false
			}
			o.pieces--
			return true
		})
	}
	if o.owed == 0 {
		return false
	}
	for i := range o.batch {
		b := &o.batch[i]
		if !b.done() {
			continue
		}
		for ; b.back < b.n && takes(b.pieces[b.back]); b.back++ {
			o.pieces--
			any = true
		}
		if b.back < b.n {
			break
		}
		b.n = 0
		o.free = append(o.free, i)
		o.owed--
	}
	return any
}

// takesBack puts a piece into the refill ring, which the kernel is told to empty when it is full:
// the NIC does when it needs buffers, and gets none of payload while that waits for room. Once the
// sender has ended the flow nothing has to go back.
func (r *Receiver) takesBack(p piece, m *stream.Meter) bool {
	if r.z.Refill(p.off, p.n) || r.ended {
		return true
	}
	r.z.Publish()
	r.flush(m)
	return r.z.Refill(p.off, p.n)
}

// evidence adds what is known of what was passed on.
func (o *onward) evidence(e *stream.Evidence) {
	if o == nil {
		return
	}
	e.Figures = append(e.Figures, stream.Figure{Name: "zcrx_onward_requests", Unit: "1", Value: float64(o.requests)})
	if o.file != nil {
		return
	}
	e.Notes = append(e.Notes, o.fate.Notes()...)
	e.Figures = append(e.Figures, o.fate.Figures()...)
}
