// SPDX-License-Identifier: MIT

package stream

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// Answers let a receiver's path answer requests, whatever its mode: what the path shows its
// [Toucher] are the requests, and when it counts them ([Meter.Bytes]) those that are whole are
// answered, with one send for all that came together. So modes differ in how they receive alone.
//
// An answer is made of the request's bytes as they came (see [TripOptions]), so that one to a
// request that was lost, doubled or overwritten on the way is not the one that was asked for.
type Answers struct {
	conn              *Conn
	request, response int

	at      int    // bytes of the request that is coming
	head    []byte // its beginning, as much as the answer takes
	ready   []byte // answers to be sent; it has room for one at least
	sealed  []byte // room for their records, where the application makes them
	whole   uint64 // answers in ready
	shown   uint64 // bytes
	counted uint64
	err     error
	wait    sock.Waiter

	lender Lender // of answers that are not copied; nil: they are
	made   uint64 // bytes of them
	sent   uint64 // of these, that the kernel has taken
	// Sent counts what was sent from a lender, and by the kernel's evidence how.
	Sent Meter
}

// answersRoom is how much is sent in one call, unless one answer is longer.
const answersRoom = 64 << 10

// NewAnswers answers the requests of a flow.
func NewAnswers(c *Conn, h Hello) (*Answers, error) {
	request, response := int(h.MessageBytes), int(h.ResponseBytes)
	if request > MaxTripBytes || response < 1 || response > MaxTripBytes {
		return nil, fmt.Errorf("the sender wants answers of %d bytes to requests of %d: both must be 1..%d", response,
			request, MaxTripBytes)
	}
	if err := NoDelay(c); err != nil {
		return nil, err
	}
	a := &Answers{conn: c, request: request, response: response,
		head: make([]byte, min(request, response)), ready: make([]byte, 0, max(answersRoom, response))}
	if c.TLS != nil && c.TLS.Sealer != nil {
		a.sealed = make([]byte, 0, records.Sealed(cap(a.ready)))
	}
	return a, nil
}

// LentBytes returns how much memory a lender of answers is to have, of whole answers.
func (a *Answers) LentBytes() int { return max(lentRoom/a.response, leastLent) * a.response }

const (
	lentRoom  = 1 << 20
	leastLent = 4 // answers
)

// Lend makes answers leave without a copy. Only whole answers of a lender's memory are used.
func (a *Answers) Lend(l Lender) { a.lender, a.ready = l, nil }

// NoDelay lets a request or an answer leave although another one is not acknowledged.
func NoDelay(c *Conn) error {
	if err := unix.SetsockoptInt(c.FD, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return &fault.Error{Op: "setsockopt TCP_NODELAY", Err: err}
	}
	return nil
}

// show takes payload in the order of the flow.
func (a *Answers) show(p []byte, m *Meter) {
	a.shown += uint64(len(p))
	for len(p) > 0 && a.err == nil {
		n := min(len(p), a.request-a.at)
		if a.at < len(a.head) {
			copy(a.head[a.at:], p[:n])
		}
		p = p[n:]
		if a.at += n; a.at == a.request {
			a.at = 0
			a.answer(m)
		}
	}
}

// answer makes the answer to a request that is whole.
func (a *Answers) answer(m *Meter) {
	if a.lender != nil {
		a.lend(m)
		return
	}
	if len(a.ready)+a.response > cap(a.ready) {
		a.send(m)
	}
	from := len(a.ready)
	a.ready = a.ready[:from+a.response]
	a.write(a.ready[from:])
	a.whole++
}

// write makes an answer in p, which is as long as one.
func (a *Answers) write(p []byte) {
	for n := copy(p, a.head); n < len(p); { // what is there is whole repetitions
		n += copy(p[n:], p[:n])
	}
}

// count notes that n bytes were counted, and sends the answers that are ready. Counting bytes that
// were not shown ends the flow: they cannot be answered.
func (a *Answers) count(n int, m *Meter) {
	if a.counted += uint64(n); a.counted != a.shown && a.err == nil {
		a.fail(&fault.Error{Op: fmt.Sprintf("the path counted %d bytes of requests but showed %d: it cannot answer",
			a.counted, a.shown),
			How: "make the receiver look at the payload (--touch verify), with a mode that gets it"})
	}
	switch {
	case a.lender != nil:
		a.offer(m)
	case len(a.ready) > 0:
		a.send(m)
	}
}

// send sends what is ready. The peer takes answers while it sends requests, so that there is room
// at some time.
func (a *Answers) send(m *Meter) {
	rest := a.ready
	if a.sealed != nil && a.err == nil {
		rest = a.conn.TLS.Sealer.SealAll(a.sealed, rest)
	}
	for len(rest) > 0 && a.err == nil {
		n, errno := sock.Send(a.conn.FD, rest, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		m.Call()
		switch {
		case errno == 0:
			rest = rest[n:]
		case errno == unix.EAGAIN:
			a.wait.Wait(a.conn.FD, unix.POLLOUT, 100)
			m.Wait()
			if err := a.conn.Aborted(); err != nil {
				a.fail(err)
			}
		case errno != unix.EINTR:
			a.fail(AnswerError(a.conn, errno))
		}
	}
	if a.err == nil {
		m.Transactions(a.whole)
	}
	a.whole, a.ready = 0, a.ready[:0]
}

// lend makes an answer in the lender's memory, when the kernel has let go of what was there.
func (a *Answers) lend(m *Meter) {
	size := uint64(a.lender.Size() / a.response * a.response)
	for a.err == nil && a.made+uint64(a.response)-a.lender.LetGo() > size {
		if a.offer(m); a.err == nil && a.made+uint64(a.response)-a.lender.LetGo() > size {
			a.slept(a.lender.Await(a.conn, &a.Sent))
		}
	}
	if a.err != nil {
		return
	}
	p, err := a.lender.Room(int(a.made%size), a.response)
	if err != nil {
		a.fail(err)
		return
	}
	a.write(p)
	a.made += uint64(a.response)
	a.whole++
}

// offer sends what is made in the lender's memory.
func (a *Answers) offer(m *Meter) {
	size := uint64(a.lender.Size() / a.response * a.response)
	for a.sent < a.made && a.err == nil {
		at := a.sent % size
		n, err := a.lender.Offer(a.conn, int(at), int(min(a.made-a.sent, size-at)), &a.Sent)
		if err != nil {
			a.fail(err)
		}
		if a.sent += uint64(n); n == 0 && a.err == nil {
			a.slept(a.lender.AwaitRoom(a.conn, &a.Sent))
		}
	}
	if a.err == nil {
		m.Transactions(a.whole)
	}
	a.whole = 0
}

// slept ends the flow where a wait of the lender's failed, or the run was aborted meanwhile.
func (a *Answers) slept(err error) {
	if err == nil {
		err = a.conn.Aborted()
	}
	if err != nil {
		a.fail(err)
	}
}

// woken takes the notifications that woke a path which found nothing.
func (a *Answers) woken() {
	if !a.Lent() || a.err != nil {
		return
	}
	if err := a.lender.Reap(a.conn, &a.Sent); err != nil {
		a.fail(err)
	}
}

// Drain waits until the kernel has let go of all answers.
func (a *Answers) Drain() error {
	if !a.Lent() || a.err != nil {
		return nil
	}
	return a.lender.Drain(a.conn, &a.Sent)
}

// Lent reports whether answers leave without a copy.
func (a *Answers) Lent() bool { return a != nil && a.lender != nil }

// Evidence returns what is known of how they do.
func (a *Answers) Evidence() (e Evidence) {
	if !a.Lent() {
		return e
	}
	if w, ok := a.lender.(Witness); ok {
		e = w.Evidence()
	}
	return e
}

// Close frees the memory that answers were sent from, after the flow's socket was closed.
func (a *Answers) Close() error {
	if !a.Lent() {
		return nil
	}
	return a.lender.Close()
}

// fail ends the flow: the path's next call returns.
func (a *Answers) fail(err error) {
	a.err = err
	a.conn.Abort()
}

// Err returns why the flow was ended; nil where a is nil.
func (a *Answers) Err() error {
	if a == nil {
		return nil
	}
	return a.err
}

// RequestBytes returns the size of a request.
func (a *Answers) RequestBytes() uint64 { return uint64(a.request) }
