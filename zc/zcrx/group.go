// SPDX-License-Identifier: MIT

package zcrx

import (
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"golang.org/x/sys/unix"
)

// member is one of the flows of a queue: they share its memory, ring and counters.
type member struct {
	conn  *stream.Conn
	touch *stream.Toucher
	n     int // number of the flow
	meter *stream.Meter

	got       int    // bytes of the walk over completions that goes on
	again     bool   // its request is to be issued again
	came      bool   // it has brought something: before that it was seen on its hello's queue
	ended     bool   // by its sender
	elsewhere bool   // it was last seen on another queue
	copied    uint64 // bytes
}

// userMember is the user data of the first flow's request; each next one's is one more.
const userMember = 1 << 16

// ReceiveAll takes payload of several flows of one queue: a request each, on one ring. Nothing is
// allocated per completion.
func (r *Receiver) ReceiveAll(flows []*stream.Flow) error {
	if err := r.begin(flows); err != nil {
		return err
	}
	shared := &flows[0].Meter
	for !r.ended {
		if err := r.enter(shared); err != nil {
			return stream.ReceiveError(r.members[0].conn, "io_uring recv_zc", err)
		}
		bytes, err := r.takeAll(shared)
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
	of := func(c *stream.Conn) int {
		return slices.IndexFunc(r.members, func(m *member) bool { return m.conn == c })
	}
	if err := stream.CheckGroup(flows, len(r.members), func(c *stream.Conn) bool { return of(c) >= 0 }); err != nil {
		return err
	}
	r.grouped = true
	for _, f := range flows {
		i := of(f.Conn)
		r.members[i].n, r.members[i].meter = f.N, &f.Meter
		if err := r.armMember(i); err != nil {
			return stream.OfFlow(f.N, err)
		}
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

// first is a flow that goes on.
func (r *Receiver) first() *member {
	for _, m := range r.members {
		if !m.ended {
			return m
		}
	}
	return r.members[0]
}

// takeAll is [Receiver.take] of several flows.
func (r *Receiver) takeAll(shared *stream.Meter) (bytes int, err error) {
	pieces, err := r.walk()
	if err != nil {
		return 0, err
	}
	for _, m := range r.members {
		bytes += m.got
		if m.got > 0 {
			m.meter.Bytes(m.got)
		}
	}
	if bytes > 0 {
		r.z.Publish()
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
	looks, holds := r.opt.Touch != stream.TouchNone, r.opt.NIC.HoldBytes > 0
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
			m.touch.Next(r.z.Bytes(cqe, d.Extra()), m.meter)
		}
		if off, n := d.Extra()[0], uint32(cqe.Res); holds || r.held.Count() > 0 || !r.z.Refill(off, n) {
			r.held.Push(off, n)
		}
		m.got += int(cqe.Res)
		pieces++
	}
	return pieces, nil
}

// judgeMember is [Receiver.judge] of one of several flows; the last that ends, ends all.
func (r *Receiver) judgeMember(m *member, cqe uring.CQE) error {
	r.fd = m.conn.FD
	again, err := r.judge(m.conn, cqe, m.meter)
	if err != nil {
		return stream.OfFlow(m.n, err)
	}
	m.again = again
	if r.ended {
		m.ended = true
		r.ended = !slices.ContainsFunc(r.members, func(m *member) bool { return !m.ended })
	}
	return nil
}

// accountAll sorts what was taken into copied and not copied. The kernel's count is of the queue,
// not of a flow: what it copied belongs to those flows that were seen on another queue. Where none
// was, it is any of those that came; the sum is right in any case.
func (r *Receiver) accountAll(shared *stream.Meter) {
	p := &r.proof
	counted := false
	if p.counts {
		_, counter := r.z.Copies()
		counted = counter != p.seen
		p.owed += counter - p.seen
		p.seen = counter
	}
	fresh := false
	for _, m := range r.members {
		if m.got > 0 && !m.came {
			m.came, fresh = true, true
		}
	}
	if counted || fresh && p.watches() {
		r.lookAll(shared)
	}
	astray := p.counts && !p.copiesAll && slices.ContainsFunc(r.members, func(m *member) bool { return m.elsewhere })
	for _, m := range r.members {
		if m.got > 0 && (m.elsewhere || !astray) {
			m.account(p, m.meter)
		}
	}
	for _, m := range r.members { // on the queue where they should be: nothing of theirs is left to be copied
		if m.got > 0 {
			p.taken += uint64(m.got)
			m.meter.ZeroCopy(uint64(m.got))
			m.got = 0
		}
	}
}

// account is [proof.account] of what a flow has brought.
func (m *member) account(p *proof, meter *stream.Meter) {
	before, all := p.copied, p.elsewhere
	p.elsewhere = m.elsewhere
	p.account(uint64(m.got), p.seen, meter)
	p.elsewhere = all
	m.copied += p.copied - before
	m.got = 0
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
		if id, err := unix.GetsockoptInt(m.conn.FD, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID); err == nil && id != 0 {
			m.elsewhere = uint32(id) != r.queue.NAPI
		}
		r.proof.elsewhere = r.proof.elsewhere || m.elsewhere
	}
}

// EvidenceOf tells what was seen of one of several flows, and of the queue, which is theirs
// together. What nobody counted as copied is told with the first.
func (r *Receiver) EvidenceOf(f *stream.Flow) stream.Evidence {
	i := slices.IndexFunc(r.members, func(m *member) bool { return m.conn == f.Conn })
	if i < 0 {
		return stream.Evidence{}
	}
	r.fd = r.members[i].conn.FD
	e := r.evidence(r.members[i].copied, i == 0)
	if r.proof.copied > 0 && r.queue != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("%d bytes of the %d flows of RX queue %d were copied: the kernel counts them by the queue, and whose they are is told by the queue that each flow was seen on (SO_INCOMING_NAPI_ID)",
			r.proof.copied, len(r.members), r.queue.ID))
	}
	return e
}
