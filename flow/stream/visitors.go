// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Visitors are the connections of a flow whose requests have one each, at the receiver. Its path
// takes them, reads pass and request, answers, and closes: with [Visitors.Serve], or by calls of
// its own. Each flow has a port of its own, so that its connections come to its thread, and a rule
// of a NIC steers them.
//
// A connection that does not begin with a pass is closed and counted.
type Visitors struct {
	Listener          int // does not block but in [Visitors.Serve]
	port              int
	ep                *sock.Epoll
	cookie            Cookie
	request, response int
	touch             *Toucher
	ready             []byte // an answer that is longer than its request
	all               []Visitor
	free              []int
	came              uint64 // connections
	room              int    // for connections at a time
	single            bool   // the sender has one at a time
	alone             bool   // so it is now: a read may wait for what it sends
	sleeps            bool   // accept(2) does
	unheard           int    // connections since all was heard
	options           sock.Options
	witness           int  // a connection that is kept after its end, as evidence; -1: none
	keep              bool // the next that ends is
}

// Visitor is one of them.
type Visitor struct {
	FD      int
	Nth     uint64 // of those that came; 0: closed
	at      int    // bytes of pass and request that came
	pass    [PassBytes]byte
	number  uint64 // of the request, once its pass is there
	head    []byte // of a request that comes in pieces, what its answer takes
	rest    []byte // of its answer, what there was no room for
	waiting bool   // its events are heard
}

// VisitRead reads once what came by a connection, and hands it to [Visitors.Take]: how many bytes
// there were, or the errno of the call. own: they were the flow's.
type VisitRead func(x *Visitor, flags int, m *Meter) (n int, own bool, errno unix.Errno, err error)

// anyEvents are heard of a connection, each once when it changes.
const anyEvents = sock.CanRead | sock.CanWrite | sock.PeerDone | sock.OnChange

// What events are of that are no visitor's.
const (
	atDoor  = -1
	flowEnd = -2
)

// moreThanAsked is the room for connections of strangers beside those of the sender.
const moreThanAsked = 256

// NewVisitors opens the flow's port.
func NewVisitors(c *Conn, h Hello, touch *Toucher, o sock.Options) (v *Visitors, err error) {
	v = &Visitors{Listener: -1, witness: -1, cookie: h.Cookie, request: int(h.MessageBytes),
		response: int(h.ResponseBytes), touch: touch, ready: make([]byte, 0, int(h.ResponseBytes)),
		room: MaxInFlight + moreThanAsked, single: h.OneAtATime && o.EpollUs == 0, options: o}
	v.alone = v.single
	if err := v.listen(c, o); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	c.Visits.Cookie = h.Cookie
	return v, nil
}

// listen opens a port at the address that the flow came to.
func (v *Visitors) listen(c *Conn, o sock.Options) error {
	at := netip.AddrPortFrom(c.Local.Addr(), 0)
	to, err := sock.AddressOf(at)
	if err != nil {
		return err
	}
	fd, errno := sock.Stream(to.Family)
	if errno != 0 {
		return remedy.Error(remedy.Socket, "socket for the connections of requests", errno, remedy.On{Local: at})
	}
	v.Listener = fd
	if err := o.Apply(fd); err != nil {
		return err
	}
	if errno := sock.Bind(fd, &to); errno != 0 {
		return remedy.Error(remedy.Bind, "bind to "+at.String(), errno, remedy.On{Local: at})
	}
	if v.alone { // which the connections inherit; see serveOne
		if err := sock.Limit(fd, visitWait); err != nil {
			return err
		}
	}
	// Without the sysctl net.ipv4.tcp_fastopen nobody opens one so.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN, v.room)
	if err := unix.Listen(fd, v.room); err != nil {
		return remedy.Error(remedy.Listen, "listen on "+at.String(), err, remedy.On{Local: at})
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return remedy.Error(remedy.GetOption, "getsockname", err, remedy.On{FD: fd})
	}
	switch s := name.(type) {
	case *unix.SockaddrInet4:
		v.port = s.Port
	case *unix.SockaddrInet6:
		v.port = s.Port
	}
	c.Visits.At = netip.AddrPortFrom(at.Addr(), uint16(v.port))
	return nil
}

// visitWait bounds one sleep, so that an aborted run is noticed.
const visitWait = 100 * time.Millisecond

// Serve answers until the sender ends the flow.
func (v *Visitors) Serve(c *Conn, read VisitRead, m *Meter) (err error) {
	if v.ep, err = sock.NewPollingEpoll(v.options); err != nil {
		return err
	}
	for _, x := range []struct{ fd, who int }{{v.Listener, atDoor}, {c.FD, flowEnd}} {
		if errno := v.ep.Add(x.fd, x.who, sock.CanRead|sock.PeerDone); errno != 0 {
			return fmt.Errorf("epoll_ctl: %w", errno)
		}
	}
	for {
		ended, err := false, c.Aborted()
		switch {
		case err != nil:
		case v.alone:
			ended, err = v.serveOne(c, read, m)
		default:
			ended, err = v.hear(visitWait, c, read, m)
		}
		if err != nil {
			return err
		}
		if ended {
			return v.Ended(c)
		}
	}
}

// serveOne sleeps in accept(2) for the one connection that there can be: woken there, and not in
// epoll_wait(2), it is one call and one wake-up in a chain of them less for each request. What else
// there is, is heard when the sleep ends without one: by its limit, or by the runtime's signals.
func (v *Visitors) serveOne(c *Conn, read VisitRead, m *Meter) (ended bool, err error) {
	if err := v.doorSleeps(true); err != nil {
		return false, err
	}
	strangers := c.Visits.Strangers.Load()
	fd, errno := sock.Accept(v.Listener)
	m.Call()
	m.Wait()
	if errno != unix.EAGAIN && errno != unix.EINTR {
		err = v.enter(fd, errno, c, read, m)
		// Those who come and go all the time must not keep it from what else there is.
		v.unheard++
		if err != nil || v.unheard < mostAtOnce && c.Visits.Strangers.Load() == strangers {
			return false, err
		}
	}
	v.unheard = 0
	return v.hear(0, c, read, m)
}

// doorSleeps has accept(2) wait for a connection, for as long as [sock.Limit] has it, or not.
func (v *Visitors) doorSleeps(on bool) error {
	if v.sleeps == on {
		return nil
	}
	if err := unix.SetNonblock(v.Listener, !on); err != nil {
		return fmt.Errorf("fcntl F_SETFL: %w", err)
	}
	v.sleeps = on
	return nil
}

// hear waits for events, for at most limit, and works them off. ended: the sender has ended the
// flow.
func (v *Visitors) hear(limit time.Duration, c *Conn, read VisitRead, m *Meter) (ended bool, err error) {
	if err := v.doorSleeps(false); err != nil {
		return false, err
	}
	n, errno := v.ep.Wait(limit)
	m.Wait()
	if errno != 0 {
		return false, fmt.Errorf("epoll_pwait2 (Linux 5.11): %w", errno)
	}
	for i := range n {
		switch who, _ := v.ep.Event(i); who {
		case flowEnd:
			ended = true
		case atDoor:
			err = v.accept(c, read, m)
		default:
			err = v.goOn(who, c, read, m)
		}
		if err != nil {
			return false, err
		}
	}
	return ended, nil
}

// Ended looks how the sender ended the flow: its requests are answered then.
func (v *Visitors) Ended(c *Conn) error {
	var b [1]byte
	switch n, errno := sock.Recv(c.FD, b[:], unix.MSG_DONTWAIT); {
	case errno != 0:
		return ReceiveError(c, "wait for the sender to end the flow", errno)
	case n > 0:
		return &fault.Error{Op: "the sender sent payload by the flow's own connection", Peer: true,
			How: "both ends must run the same version of zcbench"}
	}
	return c.Aborted()
}

// mostAtOnce is how many connections are taken before others are looked after.
const mostAtOnce = 64

// accept takes connections, and what they have sent: until there are no more, unless the sender has
// one at a time.
func (v *Visitors) accept(c *Conn, read VisitRead, m *Meter) error {
	most := mostAtOnce
	if v.alone {
		most = 1
	}
	for range most {
		fd, errno := sock.Accept(v.Listener)
		m.Call()
		if errno == unix.EAGAIN {
			return nil
		}
		if err := v.enter(fd, errno, c, read, m); err != nil {
			return err
		}
	}
	return nil
}

// enter takes a connection, if there is one, and what it has sent.
func (v *Visitors) enter(fd int, errno unix.Errno, c *Conn, read VisitRead, m *Meter) error {
	i, err := v.Admit(fd, errno, c)
	if err != nil || i < 0 {
		return err
	}
	return v.goOn(i, c, read, m)
}

// Admit makes a connection that was taken, if it was, one of the flow's; -1: it was none.
func (v *Visitors) Admit(fd int, errno unix.Errno, c *Conn) (i int, err error) {
	switch errno {
	case 0:
	case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
		if !v.evict(c) {
			err = remedy.Error(remedy.Accept, "accept the connection of a request", errno,
				remedy.On{Local: c.Visits.At})
		}
		return -1, err
	default: // it is gone already, or there is none
		return -1, nil
	}
	if i = v.place(c); i < 0 { // more of the flow's own than its sender may have
		sock.Close(fd)
		c.Visits.Strangers.Add(1)
		return -1, nil
	}
	v.came++
	x := &v.all[i]
	x.FD, x.Nth, x.at, x.waiting = fd, v.came, 0, false
	x.head, x.rest = x.head[:0], x.rest[:0]
	return i, nil
}

// Whole returns how many bytes come by a connection: pass and request.
func (v *Visitors) Whole() int { return PassBytes + v.request }

// Of returns a connection by its place.
func (v *Visitors) Of(i int) *Visitor { return &v.all[i] }

// Came returns how many bytes of pass and request have come by a connection.
func (x *Visitor) Came() int { return x.at }

// place finds room for a connection; -1: there is none, and no stranger to make way.
func (v *Visitors) place(c *Conn) int {
	switch n := len(v.free); {
	case n > 0:
		i := v.free[n-1]
		v.free = v.free[:n-1]
		return i
	case len(v.all) < v.room:
		v.all = append(v.all, Visitor{})
		return len(v.all) - 1
	case v.evict(c):
		return v.place(c)
	}
	return -1
}

// evict closes the oldest connection whose pass has not come; false: there is none.
func (v *Visitors) evict(c *Conn) bool {
	oldest := -1
	for i := range v.all {
		if x := &v.all[i]; x.Nth > 0 && x.at < PassBytes && (oldest < 0 || x.Nth < v.all[oldest].Nth) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	v.Stranger(oldest, c)
	return true
}

// Stranger closes a connection that is not the flow's. What a ring does with it ends, too.
func (v *Visitors) Stranger(i int, c *Conn) {
	c.Visits.Strangers.Add(1)
	_ = unix.Shutdown(v.all[i].FD, unix.SHUT_RDWR)
	v.leave(i)
}

// Keep has the connection that ends next kept, in the place of another: what its socket tells is
// evidence of where it came by.
func (v *Visitors) Keep() { v.keep = true }

// Witness returns the connection that is kept; -1: none.
func (v *Visitors) Witness() int { return v.witness }

// leave closes a connection.
func (v *Visitors) leave(i int) {
	sock.Close(v.all[i].FD)
	v.gone(i)
}

// gone frees the place of a connection. Once none is there the next may be waited for again.
func (v *Visitors) gone(i int) {
	v.all[i].Nth = 0
	v.free = append(v.free, i)
	if len(v.free) == len(v.all) {
		v.alone = v.single
	}
}

// part ends a connection whose request was answered, and keeps it where that is wanted.
func (v *Visitors) part(i int) {
	if !v.keep {
		v.leave(i)
		return
	}
	v.forget()
	v.witness, v.keep = v.all[i].FD, false
	_ = unix.Shutdown(v.witness, unix.SHUT_WR) // the end leaves as it does by closing
	v.gone(i)
}

// goOn reads what a connection has sent, or sends what is left of its answer. The one connection
// that there is may be waited for, unless it has sent half a pass.
func (v *Visitors) goOn(i int, c *Conn, read VisitRead, m *Meter) error {
	x := &v.all[i]
	if x.Nth == 0 {
		return nil // it was closed after the event
	}
	for x.at < v.Whole() {
		flags := unix.MSG_DONTWAIT
		if v.alone && (x.at == 0 || x.at >= PassBytes) {
			flags = 0
		}
		n, own, errno, err := read(x, flags, m)
		m.Call()
		switch {
		case err != nil:
			return err
		case errno == unix.EINTR && flags != 0:
			continue
		// A signal, as the runtime sends to a thread that is long in a call, ends a limited sleep
		// before its limit: to sleep anew would be to sleep for ever.
		case errno == unix.EAGAIN || errno == unix.EINTR:
			v.alone = false // it may be anybody's, and while it is there none is waited for
			return v.wait(i, m)
		case errno == 0 && n > 0 && own:
		case errno == 0 && n > 0:
			v.Stranger(i, c)
			return nil
		default:
			return v.Left(i, errno, c)
		}
	}
	_, err := v.Answer(i, c, m)
	return err
}

// Left says what it means that a connection ended, or failed, before its request was whole.
func (v *Visitors) Left(i int, errno unix.Errno, c *Conn) error {
	x := &v.all[i]
	switch {
	case x.at < PassBytes:
		v.Stranger(i, c)
		return nil
	case errno != 0:
		return ReceiveError(c, "read a request", errno)
	}
	return &fault.Error{Op: fmt.Sprintf("the sender closed a connection after %d of %d bytes of its request",
		x.at-PassBytes, v.request), Peer: true, How: "see its own message"}
}

// Take takes what came by a connection, in order: first its pass. body: how many bytes were of the
// request; ok is false for a connection that is not the flow's.
func (v *Visitors) Take(x *Visitor, p []byte, m *Meter) (body int, ok bool) {
	p, ok = v.admit(x, p)
	if ok && len(p) > 0 {
		v.take(x, p, m)
	}
	return len(p), ok
}

// admit takes the pass off what came; false: it is none. It returns what is of the request.
func (v *Visitors) admit(x *Visitor, p []byte) (body []byte, ok bool) {
	if x.at >= PassBytes {
		return p, true
	}
	n := copy(x.pass[x.at:], p)
	if x.at += n; x.at < PassBytes {
		return nil, true
	}
	x.number, ok = ParsePass(x.pass[:], v.cookie)
	return p[n:], ok
}

// take looks at bytes of a request, and keeps what its answer takes of them.
func (v *Visitors) take(x *Visitor, p []byte, m *Meter) {
	at := x.at - PassBytes
	if n := v.request - at; len(p) > n {
		m.Mismatch(x.number*uint64(v.request)+uint64(v.request), len(p)-n)
		p = p[:n]
	}
	v.touch.At(x.number*uint64(v.request)+uint64(at), p, m)
	if n := min(v.request, v.response) - len(x.head); n > 0 {
		x.head = append(x.head, p[:min(n, len(p))]...)
	}
	if x.at += len(p); x.at == PassBytes+v.request {
		m.Bytes(v.request)
		x.rest = x.rest[:0]
	}
}

// Answer sends the answer, or what is left of it, and closes. The end leaves with the last bytes
// (MSG_MORE), so that the sender wakes up once for both. done is false where there was no room for
// all of it.
func (v *Visitors) Answer(i int, c *Conn, m *Meter) (done bool, err error) {
	x := &v.all[i]
	rest := x.rest
	if len(rest) == 0 {
		if rest = x.head; len(rest) < v.response {
			v.ready = v.ready[:0]
			for n := 0; n < v.response; n = len(v.ready) {
				v.ready = append(v.ready, x.head[:min(len(x.head), v.response-n)]...)
			}
			rest = v.ready
		}
	}
	for len(rest) > 0 {
		n, errno := sock.Send(x.FD, rest, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL|unix.MSG_MORE)
		m.Call()
		switch {
		case errno == 0:
			rest = rest[n:]
		case errno == unix.EAGAIN:
			x.rest = append(x.rest[:0], rest...)
			return false, v.wait(i, m)
		case errno != unix.EINTR:
			return false, AnswerError(c, errno)
		}
	}
	m.Call() // close
	v.part(i)
	m.Transaction()
	return true, nil
}

// wait hears from now on when a connection can go on.
func (v *Visitors) wait(i int, m *Meter) error {
	x := &v.all[i]
	if x.waiting || v.ep == nil {
		return nil
	}
	x.waiting = true
	m.Call()
	if errno := v.ep.Add(x.FD, i, anyEvents); errno != 0 {
		return fmt.Errorf("epoll_ctl: %w", errno)
	}
	return nil
}

// forget closes the connection that is kept.
func (v *Visitors) forget() {
	if v.witness >= 0 {
		sock.Close(v.witness)
		v.witness = -1
	}
}

// Close closes everything.
func (v *Visitors) Close() error {
	if v == nil {
		return nil
	}
	v.keep = false
	v.forget()
	for i := range v.all {
		if v.all[i].Nth > 0 {
			v.leave(i)
		}
	}
	if v.Listener >= 0 {
		sock.Close(v.Listener)
		v.Listener = -1
	}
	return v.ep.Close()
}
