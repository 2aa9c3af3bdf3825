// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// crrSender is the send mode crr: for each request it opens a connection, sends the request, takes
// the answer, and closes when the receiver has closed ([stream.Visits]). As many as are to be in
// flight are open at a time.
type crrSender struct {
	opt  stream.Options
	buf  *stream.Buffer
	ep   *sock.Epoll
	out  sock.Pair
	to   sock.Address
	pass [stream.PassBytes]byte
	open []asking // by their numbers
	free []int    // of them

	flags int // with which it sends: of several none may wait
	sleep sock.Sleeper
}

// asking is a connection of a request.
type asking struct {
	stream.Visit
	fd        int
	sent, got int // bytes, of pass and request, and of the answer
}

// mostEvents is what is heard of a connection, each once when it changes.
const mostEvents = sock.CanRead | sock.CanWrite | sock.PeerDone | sock.OnChange

// newCRRSender allocates what it needs.
func newCRRSender(o stream.Options) (*crrSender, error) {
	buf, err := stream.NewBuffer(answerBuffer)
	if err != nil {
		return nil, err
	}
	s := &crrSender{opt: o, buf: buf, open: make([]asking, max(o.Trips.InFlight, 1)),
		flags: unix.MSG_DONTWAIT}
	for i := range s.open {
		s.open[i].fd = -1
		s.free = append(s.free, i)
	}
	if s.ep, err = sock.NewPollingEpoll(o.Socket); err != nil {
		return nil, errors.Join(err, buf.Close())
	}
	return s, nil
}

// Send makes visits until c.Stopping, and returns when the last has ended.
func (s *crrSender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) (err error) {
	t := m.Visits()
	if t == nil {
		return errors.New("crr: no account of the connections")
	}
	if s.to, err = sock.AddressOf(c.Visits.At); err != nil {
		return err
	}
	if s.opt.Trips.PerSecond > 0 {
		sock.Punctual()
	}
	if len(s.open) == 1 && s.opt.Socket.EpollUs == 0 {
		return s.sendOneByOne(c, t, p, m)
	}
	// Its end, which is the receiver's too, is heard while nothing else happens.
	if errno := s.ep.Add(c.FD, len(s.open), sock.PeerDone|sock.OnChange); errno != 0 {
		return fmt.Errorf("epoll_ctl: %w", errno)
	}
	for !c.Stopping() || t.Open() > 0 {
		if err := c.Aborted(); err != nil {
			return err
		}
		wait, err := s.begin(c, t, p, m)
		if err != nil {
			return err
		}
		n, errno := s.ep.Wait(wait)
		m.Wait()
		if errno != 0 {
			return fmt.Errorf("epoll_pwait2 (Linux 5.11): %w", errno)
		}
		t.Came()
		for i := range n {
			if err := s.heard(c, t, p, m, i); err != nil {
				return err
			}
		}
	}
	return c.Aborted()
}

// begin begins what is due, and returns for how long there is nothing to do but to listen.
func (s *crrSender) begin(c *stream.Conn, t *stream.Visits, p *stream.Payload, m *stream.Meter) (time.Duration,
	error) {
	const most = waitMs * time.Millisecond
	if c.Stopping() {
		return most, nil
	}
	n, wait := t.Due()
	if n == 0 && wait > 0 {
		return min(wait, most), nil
	}
	for range n {
		if err := s.connect(c, t, p, m); err != nil {
			return 0, err
		}
	}
	if n, wait = t.Due(); n > 0 {
		return 0, nil
	} else if wait > 0 {
		return min(wait, most), nil
	}
	return most, nil
}

// connect begins a visit.
func (s *crrSender) connect(c *stream.Conn, t *stream.Visits, p *stream.Payload, m *stream.Meter) error {
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	a := &s.open[i]
	a.sent, a.got = 0, 0
	t.Begin(&a.Visit, m)
	fd, errno := sock.Stream(s.to.Family)
	m.Call()
	if errno != 0 {
		return remedy.Error(remedy.Socket, "socket for a connection", errno, remedy.On{Remote: c.Visits.At})
	}
	a.fd = fd
	if o := s.opt.Socket; o != (sock.Options{}) {
		if err := o.Apply(fd); err != nil {
			return err
		}
	}
	if s.opt.Trips.FastOpen {
		errno = s.send(a, c, p, m, &s.to)
	} else {
		errno = sock.Connect(fd, &s.to)
		m.Call()
	}
	if errno != 0 && errno != unix.EINPROGRESS && errno != unix.EAGAIN {
		return s.unconnected(c, errno)
	}
	errno = s.ep.Add(fd, i, mostEvents)
	m.Call()
	if errno != 0 {
		return fmt.Errorf("epoll_ctl: %w", errno)
	}
	return nil
}

// send sends what is left of pass and request, to an address where that opens the connection, too.
func (s *crrSender) send(a *asking, c *stream.Conn, p *stream.Payload, m *stream.Meter, to *sock.Address) unix.Errno {
	request := s.opt.MessageBytes
	for a.sent < stream.PassBytes+request {
		stream.PutPass(s.pass[:], c.Visits.Cookie, a.Number)
		body := p.At(a.Number*uint64(request), request)
		n, errno := s.out.Send(a.fd, s.pass[min(a.sent, stream.PassBytes):], body[max(a.sent-stream.PassBytes, 0):], to,
			s.flags)
		m.Call()
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return errno
		default:
			a.sent, to = a.sent+n, nil
		}
	}
	m.Bytes(request)
	return 0
}

// heard does what an event lets go on.
func (s *crrSender) heard(c *stream.Conn, t *stream.Visits, p *stream.Payload, m *stream.Meter, event int) error {
	i, events := s.ep.Event(event)
	if i == len(s.open) {
		return ended(c)
	}
	a := &s.open[i]
	if a.sent < stream.PassBytes+s.opt.MessageBytes {
		if events&unix.EPOLLERR != 0 {
			return s.unconnected(c, unix.Errno(socketError(a.fd)))
		}
		if events&sock.CanWrite == 0 {
			return nil
		}
		if !a.Connected && a.sent == 0 {
			t.Connect(&a.Visit)
		}
		if errno := s.send(a, c, p, m, nil); errno != 0 && errno != unix.EAGAIN {
			return stream.SendError(c, "send a request", errno)
		}
	}
	if events&(sock.CanRead|sock.PeerDone|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		return nil
	}
	return s.receive(i, events, c, t, p, m)
}

// ended says that the receiver has ended the flow.
func ended(c *stream.Conn) error {
	if err := c.Aborted(); err != nil {
		return err
	}
	return &fault.Error{Op: "wait for answers", Err: errors.New("the receiver ended the flow"), Peer: true,
		How: "see its own message"}
}

// receive takes what has come of an answer, and ends the visit where the receiver has.
func (s *crrSender) receive(i int, events uint32, c *stream.Conn, t *stream.Visits, p *stream.Payload,
	m *stream.Meter) error {
	a := &s.open[i]
	for {
		n, errno := sock.Recv(a.fd, s.buf.Bytes(), unix.MSG_DONTWAIT)
		m.Call()
		switch {
		case errno == unix.EAGAIN:
			return nil
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return stream.SendError(c, "wait for an answer", errno)
		case n > 0:
			t.Take(&a.Visit, a.got, s.buf.Bytes()[:n], p, m)
			if a.got += n; n == len(s.buf.Bytes()) {
				continue
			}
			if events&sock.PeerDone == 0 { // when it comes there is another event
				return nil
			}
		}
		s.free = append(s.free, i)
		return s.end(a, t, m)
	}
}

// end closes a connection that the receiver has closed.
func (s *crrSender) end(a *asking, t *stream.Visits, m *stream.Meter) error {
	if size := s.opt.Trips.ResponseBytes; a.got < size {
		return &fault.Error{Op: "wait for an answer",
			Err: fmt.Errorf("the receiver closed the connection after %d "+
				"of %d bytes", a.got, size), Peer: true, How: "see its own message"}
	}
	sock.Close(a.fd)
	m.Call()
	a.fd = -1
	t.End(&a.Visit, m)
	return nil
}

func socketError(fd int) int {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || errno == 0 {
		return int(unix.ECONNABORTED)
	}
	return errno
}

// unconnected explains why a connection could not be made.
func (s *crrSender) unconnected(c *stream.Conn, errno unix.Errno) error {
	if err := c.Aborted(); err != nil {
		return err
	}
	e := remedy.Error(remedy.Connect, "connect to "+c.Visits.At.String(), errno, remedy.On{Remote: c.Visits.At})
	if errno == unix.EADDRNOTAVAIL {
		e.How = "all local ports are in use (net.ipv4.ip_local_port_range; `ss -s` counts those that wait after " +
			"their end): use fewer connections at a time (--in-flight), or wait for those of other programs to end"
	}
	return e
}

// Close closes what is open, and frees the buffer.
func (s *crrSender) Close() error {
	for i := range s.open {
		if a := &s.open[i]; a.fd >= 0 {
			sock.Close(a.fd)
			a.fd = -1
		}
	}
	return errors.Join(s.ep.Close(), s.buf.Close())
}
