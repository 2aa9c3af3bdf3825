// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// member is one of the flows of a queue: they share its memory, ring and counters.
type member struct {
	conn  *stream.Conn
	touch *stream.Toucher

	period int          // of its pattern
	flow   *stream.Flow // of several
	n      int          // its number
	meter  *stream.Meter

	got       int    // bytes of the walk over completions that goes on
	again     bool   // its request is to be issued again
	came      bool   // it has brought something: before that it was seen on its hello's queue
	ended     bool   // by its sender
	elsewhere bool   // it was last seen on another queue
	seenOn    bool   // it was last seen on its queue, or on another
	untold    uint64 // bytes taken while neither was known, where the kernel does not count
	due       uint64 // of got: bytes that were copied, where the kernel counts them
	taken     uint64 // bytes, in all
	copied    uint64 // of them
}

// userMember is the user data of the first flow's request; each next one's is one more.
const userMember = 1 << 16

// ReceiveAll takes payload of several flows of one queue: a request each, on one ring. Nothing is
// allocated per completion.
func (r *Receiver) ReceiveAll(flows []*stream.Flow) (err error) {
	defer func() { r.endRing(err) }()
	if err := r.begin(flows); err != nil {
		return err
	}
	return r.receiveAll()
}

// receiveAll moves the flows that were begun until all have ended.
func (r *Receiver) receiveAll() error {
	if r.process != nil {
		return r.process.receive(r)
	}
	shared := r.members[0].meter
	for !r.ended || r.growsForOthers() {
		if err := r.enter(shared); err != nil {
			return stream.ReceiveError(r.members[0].conn, "io_uring recv_zc", err)
		}
		bytes, err := r.takeAll(shared)
		if err == nil {
			err = r.growIfWanted()
		}
		r.onBoard()
		if err != nil {
			return err
		}
		if bytes > 0 {
			r.idle.since = time.Time{}
		} else if err := r.idleTick(r.first().conn); err != nil {
			return err
		}
		if r.held.Full() {
			r.makeRoom(shared)
		}
	}
	for _, m := range r.members {
		if err := m.conn.Aborted(); err != nil {
			return err
		}
	}
	return nil
}

// begin issues the requests.
func (r *Receiver) begin(flows []*stream.Flow) error {
	if err := r.group(flows); err != nil || r.process != nil {
		return err
	}
	for i, m := range r.members {
		if err := r.armMember(i); err != nil {
			return stream.OfFlow(m.n, err)
		}
	}
	return nil
}

// group makes the flows those of the receiver.
func (r *Receiver) group(flows []*stream.Flow) error {
	of := func(c *stream.Conn) int {
		return slices.IndexFunc(r.members, func(m *member) bool { return m.conn == c })
	}
	if err := stream.CheckGroup(flows, len(r.members), func(c *stream.Conn) bool { return of(c) >= 0 }); err != nil {
		return err
	}
	r.grouped = true
	for _, f := range flows {
		i := of(f.Conn)
		r.members[i].flow, r.members[i].n, r.members[i].meter = f, f.N, &f.Meter
	}
	return nil
}

// armMember issues the multishot receive of a flow; the next enter submits it.
func (r *Receiver) armMember(i int) error {
	if r.ring.SQSpace() == 0 {
		if _, err := r.ring.Submit(); err != nil {
			return err
		}
	}
	r.ring.GetSQE().RecvZC(r.members[i].conn.FD, r.z.ID(), userMember+uint64(i))
	return nil
}

// first returns the first flow that has not ended.
func (r *Receiver) first() *member {
	for _, m := range r.members {
		if !m.ended {
			return m
		}
	}
	return r.members[0]
}

// takeAll does for several flows what [Receiver.take] does for one.
func (r *Receiver) takeAll(shared *stream.Meter) (bytes int, err error) {
	pieces, err := r.walk()
	if err = errors.Join(err, r.view.End(shared)); err != nil {
		return 0, err
	}
	for _, m := range r.members {
		bytes += m.got
		if m.got, err = m.touch.Payload(m.got); err != nil {
			return bytes, stream.OfFlow(m.n, err)
		}
		if m.got > 0 {
			m.meter.Bytes(m.got)
		}
	}
	if bytes > 0 {
		r.publish()
		r.stats.pieces += uint64(pieces)
		r.accountAll(shared)
	}
	r.refill(shared)
	for i, m := range r.members {
		if m.again {
			m.again = false
			if err := r.armMember(i); err != nil {
				return bytes, stream.OfFlow(m.n, err)
			}
		}
	}
	return bytes, nil
}

// walk handles the completions that are there, as take does.
func (r *Receiver) walk() (pieces int, err error) {
	looks, holds := r.opt.Looks(), r.opt.NIC.HoldBytes > 0
	at := uint64(0) // the flow of the last completion: the next one's, for all that is known
	d := r.ring.Drain()
	defer d.Done()
	for !r.held.Full() {
		if !looks && !holds && r.held.Count() == 0 {
			k, n := r.z.GiveBack(&d, userMember+at)
			pieces += k
			r.members[at].got += int(n)
		}
		if !d.Next() {
			break
		}
		cqe := d.CQE()
		if cqe.UserData == userEvent {
			r.event(uring.ZcrxEvent(cqe.Res))
			continue
		}
		at = cqe.UserData - userMember
		m := r.members[at]
		if !cqe.More() {
			if err := r.judgeMember(m, *cqe); err != nil {
				return pieces, err
			}
			continue
		}
		if looks {
			if err := r.view.Next(m.touch, int(r.z.Where(d.Extra())), int(cqe.Res), m.meter); err != nil {
				return pieces, err
			}
		}
		if off, n := d.Extra()[0], uint32(cqe.Res); holds || r.held.Count() > 0 || !r.z.Refill(off, n) {
			r.held.Push(off, n)
		}
		m.got += int(cqe.Res)
		pieces++
	}
	return pieces, nil
}

// judgeMember calls [Receiver.judge] for one of several flows; the last that ends, ends all.
func (r *Receiver) judgeMember(m *member, cqe uring.CQE) error {
	r.fd = m.conn.FD
	again, err := r.judge(m.conn, cqe, m.meter)
	if err != nil {
		return stream.OfFlow(m.n, err)
	}
	m.again = again
	if r.ended {
		m.ended = true
		if m.flow.End(); m.elsewhere {
			r.seenElsewhere(-1)
		}
		r.ended = !slices.ContainsFunc(r.members, func(m *member) bool { return !m.ended })
	}
	return nil
}

// accountAll sorts what was taken into copied and not copied. The kernel's count is of the queue,
// not of a flow: what it copied belongs to those flows that were seen on another queue. Where none
// was, nobody tells whose it is, and all that came share it by their bytes.
func (r *Receiver) accountAll(shared *stream.Meter) {
	r.sortAll(shared, r.counted())
}

// counted reads what the kernel has counted as copied, and reports whether that is more than
// before.
func (r *Receiver) counted() bool {
	p := &r.proof
	if !p.counts {
		return false
	}
	_, counter := r.z.Copies()
	more := counter != p.seen
	p.owed += counter - p.seen
	p.seen = counter
	return more
}

// sortAll sorts what was taken by what the kernel has counted.
func (r *Receiver) sortAll(shared *stream.Meter, counted bool) {
	p := &r.proof
	fresh := false
	for _, m := range r.members {
		if m.got > 0 && !m.came {
			m.came, fresh = true, true
		}
	}
	if counted || fresh && (p.watches() || r.share != nil) { // before another ring books what is its
		r.lookAll(shared)
	}
	if p.counts {
		// What is left when those that came elsewhere have ended is not theirs.
		if r.shareOwed(true); !r.anyElsewhere() {
			r.shareOwed(false)
		}
	}
	for _, m := range r.members {
		if m.got > 0 {
			m.book(p)
		}
	}
}

// shareOwed shares the bytes that the kernel counted as copied, and that were not taken before,
// among the flows that have brought something and were seen elsewhere, or were not: by what each
// has brought, so that none has more than that. Where it does not come out even, the sum does, and
// flows take turns at what is over.
func (r *Receiver) shareOwed(elsewhere bool) {
	total := uint64(0)
	for _, m := range r.members {
		if m.elsewhere == elsewhere {
			total += uint64(m.got)
		}
	}
	owed := r.owed(total)
	if owed == 0 {
		return
	}
	r.turn++
	upTo := uint64(0)
	for i := range r.members {
		if m := r.members[(r.turn+i)%len(r.members)]; m.elsewhere == elsewhere {
			m.due = part(owed, upTo, uint64(m.got), total)
			upTo += uint64(m.got)
		}
	}
}

// owed takes at most so many of the bytes that the kernel counted as copied, and that were not
// taken before: of what several rings of the queue have not.
func (r *Receiver) owed(most uint64) uint64 {
	if r.share != nil {
		return r.share.board.claim(r.proof.seen, most)
	}
	n := min(r.proof.owed, most)
	r.proof.owed -= n
	return n
}

// part computes the share in what that goes, of a whole, to the n which come after upTo others. It
// rounds so that the shares of all add up, and to no more than n where there is no more than whole
// to share.
func part(what, upTo, n, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	to := func(n uint64) uint64 {
		hi, lo := bits.Mul64(what, n)
		q, _ := bits.Div64(hi, lo, whole)
		return q
	}
	return to(upTo+n) - to(upTo)
}

// book does for one of several flows what [proof.account] does: it sorts what the flow has brought.
func (m *member) book(p *proof) {
	n, copied := uint64(m.got), m.due
	switch {
	case p.counts:
	case p.copiesAll, m.elsewhere:
		copied = n
	case !m.seenOn:
		m.untold += n
		p.untold += n
	}
	p.book(n, copied, m.meter)
	m.taken += n
	m.copied += copied
	m.got, m.due = 0, 0
}

// lookAll finds out by which queues the flows come.
func (r *Receiver) lookAll(shared *stream.Meter) {
	if r.queue == nil {
		return
	}
	r.proof.elsewhere = false
	for _, m := range r.members {
		if m.ended || !m.came {
			continue
		}
		shared.Call()
		was := m.elsewhere
		m.elsewhere, m.seenOn = sees(m.conn.FD, r.queue)
		switch {
		case m.elsewhere && !was:
			r.seenElsewhere(1)
		case was && !m.elsewhere:
			r.seenElsewhere(-1)
		}
		r.proof.elsewhere = r.proof.elsewhere || m.elsewhere
	}
}

// EvidenceOf returns what was seen of one of several flows, and of the queue that they share.
func (r *Receiver) EvidenceOf(f *stream.Flow) stream.Evidence {
	i := slices.IndexFunc(r.members, func(m *member) bool { return m.conn == f.Conn })
	if i < 0 {
		return stream.Evidence{}
	}
	if r.process != nil {
		return r.process.evidence(i)
	}
	r.fd = r.members[i].conn.FD
	e := r.evidence(r.members[i])
	if r.queue != nil {
		e.Notes = append(e.Notes, r.sharing()...)
	}
	e.Share(ofEach...)
	return e
}

// ofEach are the figures that each of several flows of a queue has for itself. The others are of
// its ring and the queue.
var ofEach = []string{"zcrx_queue", "zcrx_leased_queue", "zcrx_flow_queue", "zcrx_provider_bound",
	"zcrx_uncounted_copied_bytes"}

// sharing explains how the queue's copies are divided among its flows. The notes are the same for
// all flows, so that they are printed once.
func (r *Receiver) sharing() (notes []string) {
	if r.proof.counts && r.proof.copied > 0 {
		notes = append(notes, fmt.Sprintf("the kernel counted %d bytes of RX queue %d as copied, for the queue's "+
			"%d flows together: they are divided by bytes among the flows seen on another queue "+
			"(SO_INCOMING_NAPI_ID), or among all if none was",
			r.proof.copied, r.queue.ID, len(r.members)))
	}
	if r.pool.unseen > 0 {
		notes = append(notes, fmt.Sprintf("by its page pools, at least %d bytes of RX queue %d were copied "+
			"without being counted, for the queue's %d flows together: they are divided by bytes that were not "+
			"counted as copied",
			r.pool.unseen, r.queue.ID, len(r.members)))
	}
	return notes
}

// unseenOf computes a flow's share in what was copied without being counted, by the bytes that the
// flow claims.
func (r *Receiver) unseenOf(m *member) uint64 {
	upTo, all := r.claimsBefore()
	for _, o := range r.members {
		if o == m {
			break
		}
		upTo += o.taken - o.copied
	}
	return part(r.pool.unseen, upTo, m.taken-m.copied, all)
}
