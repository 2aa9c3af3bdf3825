// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// visitors are the connections of a flow whose requests have one each, at the receiver: it takes a
// connection, reads pass and request, answers, and closes. Each flow has a port of its own, so that
// its connections come to its thread, and a rule of a NIC could steer them.
//
// A connection that does not begin with a pass is closed and counted.
type visitors struct {
	ln, port          int
	ep                *sock.Epoll
	cookie            stream.Cookie
	request, response int
	buf               []byte
	touch             *stream.Toucher
	ready             []byte // an answer that is longer than its request
	all               []visitor
	free              []int
	came              uint64 // connections
	room              int    // for connections at a time
}

// visitor is one of them.
type visitor struct {
	fd      int
	nth     uint64 // of those that came; 0: closed
	at      int    // bytes of pass and request that came
	pass    [stream.PassBytes]byte
	number  uint64 // of the request, once its pass is there
	head    []byte // of a request that comes in pieces, what its answer takes
	rest    []byte // of its answer, what there was no room for
	waiting bool   // its events are heard
}

// What events are of that are no visitor's.
const (
	atDoor  = -1
	flowEnd = -2
)

// moreThanAsked is the room for connections of strangers beside those of the sender.
const moreThanAsked = 256

// newVisitors opens the flow's port.
func newVisitors(c *stream.Conn, h stream.Hello, buf []byte, touch *stream.Toucher, o sock.Options) (v *visitors,
	err error) {
	v = &visitors{ln: -1, cookie: h.Cookie, request: int(h.MessageBytes), response: int(h.ResponseBytes), buf: buf,
		touch: touch, ready: make([]byte, 0, int(h.ResponseBytes)), room: stream.MaxInFlight + moreThanAsked}
	if len(buf) < stream.PassBytes {
		return nil, fmt.Errorf("a buffer of %d bytes is too small for a request", len(buf))
	}
	if v.ep, err = sock.NewPollingEpoll(o); err != nil {
		return nil, err
	}
	if err := v.listen(c, o); err != nil {
		return nil, errors.Join(err, v.close())
	}
	c.Visits.Cookie = h.Cookie
	for _, x := range []struct{ fd, who int }{{v.ln, atDoor}, {c.FD, flowEnd}} {
		if errno := v.ep.Add(x.fd, x.who, sock.CanRead|sock.PeerDone); errno != 0 {
			return nil, errors.Join(fmt.Errorf("epoll_ctl: %w", errno), v.close())
		}
	}
	return v, nil
}

// listen opens a port at the address that the flow came to.
func (v *visitors) listen(c *stream.Conn, o sock.Options) error {
	at := netip.AddrPortFrom(c.Local.Addr(), 0)
	to, err := sock.AddressOf(at)
	if err != nil {
		return err
	}
	fd, errno := sock.Stream(to.Family)
	if errno != 0 {
		return remedy.Error(remedy.Socket, "socket for the connections of requests", errno, remedy.On{Local: at})
	}
	v.ln = fd
	if err := o.Apply(fd); err != nil {
		return err
	}
	if errno := sock.Bind(fd, &to); errno != 0 {
		return remedy.Error(remedy.Bind, "bind to "+at.String(), errno, remedy.On{Local: at})
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

// serve answers until the sender ends the flow.
func (v *visitors) serve(c *stream.Conn, m *stream.Meter) error {
	for {
		n, errno := v.ep.Wait(waitMs * 1e6)
		m.Wait()
		if errno != 0 {
			return fmt.Errorf("epoll_pwait2 (Linux 5.11): %w", errno)
		}
		if err := c.Aborted(); err != nil {
			return err
		}
		ended := false
		for i := range n {
			var err error
			switch who, _ := v.ep.Event(i); who {
			case flowEnd:
				ended = true
			case atDoor:
				err = v.accept(c, m)
			default:
				err = v.goOn(who, c, m)
			}
			if err != nil {
				return err
			}
		}
		if ended {
			return v.ended(c)
		}
	}
}

// ended looks how the sender ended the flow: its requests are answered then.
func (v *visitors) ended(c *stream.Conn) error {
	switch n, errno := sock.Recv(c.FD, v.buf, unix.MSG_DONTWAIT); {
	case errno != 0:
		return stream.ReceiveError(c, "wait for the sender to end the flow", errno)
	case n > 0:
		return &fault.Error{Op: "the sender sent payload by the flow's own connection", Peer: true,
			How: "both ends must run the same version of zcbench"}
	}
	return c.Aborted()
}

// mostAtOnce is how many connections are taken before others are looked after.
const mostAtOnce = 64

// accept takes connections, and what they have sent.
func (v *visitors) accept(c *stream.Conn, m *stream.Meter) error {
	for range mostAtOnce {
		fd, errno := sock.Accept(v.ln)
		m.Call()
		switch errno {
		case 0:
		case unix.EAGAIN:
			return nil
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			if v.evict(c) {
				continue
			}
			return remedy.Error(remedy.Accept, "accept the connection of a request", errno,
				remedy.On{Local: c.Visits.At})
		default: // it is gone already
			continue
		}
		i := v.place(c)
		if i < 0 { // more of the flow's own than its sender may have
			sock.Close(fd)
			c.Visits.Strangers.Add(1)
			continue
		}
		v.came++
		x := &v.all[i]
		x.fd, x.nth, x.at, x.waiting = fd, v.came, 0, false
		x.head, x.rest = x.head[:0], x.rest[:0]
		if err := v.goOn(i, c, m); err != nil {
			return err
		}
	}
	return nil
}

// place finds room for a connection; -1: there is none, and no stranger to make way.
func (v *visitors) place(c *stream.Conn) int {
	switch n := len(v.free); {
	case n > 0:
		i := v.free[n-1]
		v.free = v.free[:n-1]
		return i
	case len(v.all) < v.room:
		v.all = append(v.all, visitor{})
		return len(v.all) - 1
	case v.evict(c):
		return v.place(c)
	}
	return -1
}

// evict closes the oldest connection whose pass has not come; false: there is none.
func (v *visitors) evict(c *stream.Conn) bool {
	oldest := -1
	for i := range v.all {
		if x := &v.all[i]; x.nth > 0 && x.at < stream.PassBytes && (oldest < 0 || x.nth < v.all[oldest].nth) {
			oldest = i
		}
	}
	if oldest < 0 {
		return false
	}
	v.stranger(oldest, c)
	return true
}

// stranger closes a connection that is not the flow's.
func (v *visitors) stranger(i int, c *stream.Conn) {
	c.Visits.Strangers.Add(1)
	v.leave(i)
}

// leave closes a connection.
func (v *visitors) leave(i int) {
	sock.Close(v.all[i].fd)
	v.all[i].nth = 0
	v.free = append(v.free, i)
}

// goOn reads what a connection has sent, or sends what is left of its answer.
func (v *visitors) goOn(i int, c *stream.Conn, m *stream.Meter) error {
	x := &v.all[i]
	if x.nth == 0 {
		return nil // it was closed after the event
	}
	whole := stream.PassBytes + v.request
	for x.at < whole {
		n, errno := sock.Recv(x.fd, v.buf, unix.MSG_DONTWAIT)
		m.Call()
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return v.wait(i, m)
		case errno == 0 && n > 0:
		case x.at < stream.PassBytes:
			v.stranger(i, c)
			return nil
		case errno != 0:
			return stream.ReceiveError(c, "read a request", errno)
		default:
			return &fault.Error{Op: fmt.Sprintf("the sender closed a connection after %d of %d bytes of its request",
				x.at-stream.PassBytes, v.request), Peer: true, How: "see its own message"}
		}
		body, ok := v.admit(x, v.buf[:n])
		if !ok {
			v.stranger(i, c)
			return nil
		}
		if len(body) > 0 {
			v.take(x, body, m)
		}
	}
	return v.answer(i, c, m)
}

// admit takes the pass off what came; false: it is none. It returns what is of the request.
func (v *visitors) admit(x *visitor, p []byte) (body []byte, ok bool) {
	if x.at >= stream.PassBytes {
		return p, true
	}
	n := copy(x.pass[x.at:], p)
	if x.at += n; x.at < stream.PassBytes {
		return nil, true
	}
	x.number, ok = stream.ParsePass(x.pass[:], v.cookie)
	return p[n:], ok
}

// take looks at bytes of a request, and keeps what its answer takes of them.
func (v *visitors) take(x *visitor, p []byte, m *stream.Meter) {
	at := x.at - stream.PassBytes
	if n := v.request - at; len(p) > n {
		m.Mismatch(x.number*uint64(v.request)+uint64(v.request), len(p)-n)
		p = p[:n]
	}
	v.touch.At(x.number*uint64(v.request)+uint64(at), p, m)
	if n := min(v.request, v.response) - len(x.head); n > 0 {
		x.head = append(x.head, p[:min(n, len(p))]...)
	}
	if x.at += len(p); x.at == stream.PassBytes+v.request {
		m.Bytes(v.request)
		x.rest = x.rest[:0]
	}
}

// answer sends the answer, or what is left of it, and closes. The end leaves with the last bytes
// (MSG_MORE), so that the sender wakes up once for both.
func (v *visitors) answer(i int, c *stream.Conn, m *stream.Meter) error {
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
		n, errno := sock.Send(x.fd, rest, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL|unix.MSG_MORE)
		m.Call()
		switch {
		case errno == 0:
			rest = rest[n:]
		case errno == unix.EAGAIN:
			x.rest = append(x.rest[:0], rest...)
			return v.wait(i, m)
		case errno != unix.EINTR:
			return stream.AnswerError(c, errno)
		}
	}
	m.Call() // close
	v.leave(i)
	m.Transaction()
	return nil
}

// wait hears from now on when a connection can go on.
func (v *visitors) wait(i int, m *stream.Meter) error {
	x := &v.all[i]
	if x.waiting {
		return nil
	}
	x.waiting = true
	m.Call()
	if errno := v.ep.Add(x.fd, i, mostEvents); errno != 0 {
		return fmt.Errorf("epoll_ctl: %w", errno)
	}
	return nil
}

// close closes everything.
func (v *visitors) close() error {
	if v == nil {
		return nil
	}
	for i := range v.all {
		if v.all[i].nth > 0 {
			v.leave(i)
		}
	}
	if v.ln >= 0 {
		sock.Close(v.ln)
		v.ln = -1
	}
	return v.ep.Close()
}
