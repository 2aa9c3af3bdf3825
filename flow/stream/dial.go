// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// Dial opens a flow to the data port at addr: it connects, says h and waits for
// the receiver's welcome. While nothing listens there it tries again. ctx is the limit
// of all that: before the first of several flows is welcome the last one is steered,
// and a NIC whose link is trained again meanwhile takes its time.
func Dial(ctx context.Context, addr string, h Hello, o sock.Options) (*Conn, Welcome, error) {
	return DialBeside(ctx, addr, h, o, func(*Conn) error { return nil })
}

// DialBeside dials a flow whose payload goes beside the connection: beside prepares for it before
// the receiver learns of the flow.
func DialBeside(ctx context.Context, addr string, h Hello, o sock.Options, beside func(*Conn) error) (*Conn, Welcome,
	error) {
	var w Welcome
	c, err := connect(ctx, addr, o)
	if err == nil {
		if err = beside(c); err != nil {
			c.Close()
			return nil, w, err
		}
		if w, err = c.introduce(ctx, h); err != nil {
			c.Close()
			c = nil
		} else if h.Connects {
			c.Visits.At, c.Visits.Cookie = netip.AddrPortFrom(c.Remote.Addr(), w.Port), h.Cookie
		}
	}
	return c, w, calledOff(ctx, addr, err)
}

// calledOff says of what failed that it was called off, whatever that broke.
func calledOff(ctx context.Context, addr string, err error) error {
	if why := context.Cause(ctx); err != nil && why != nil && !errors.Is(why, context.DeadlineExceeded) {
		return &fault.Error{Op: "connect to " + addr, Err: why}
	}
	return err
}

// connect connects as soon as somebody listens.
func connect(ctx context.Context, addr string, o sock.Options) (*Conn, error) {
	var refused error
	for {
		c, err := connectOnce(ctx, addr, o)
		// The time may run out in the middle of one more attempt, which may notice
		// that before the context does.
		late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil
		switch {
		case errors.Is(err, unix.ECONNREFUSED):
			refused = err
		case refused == nil || err == nil || !late:
			return c, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, refused
		}
	}
}

func connectOnce(ctx context.Context, addr string, o sock.Options) (*Conn, error) {
	w := &connecting{}
	defer w.close()
	d := net.Dialer{Control: func(network, address string, c syscall.RawConn) error {
		return errors.Join(w.watch(c), control(o)(network, address, c))
	}}
	d.SetMultipathTCP(false)
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, w.failed(ctx, addr, err)
	}
	w.opened()
	return Detach(nc.(*net.TCPConn))
}

// introduce sends hello and reads the welcome.
func (c *Conn) introduce(ctx context.Context, h Hello) (Welcome, error) {
	b, err := h.AppendBinary(nil)
	if err != nil {
		return Welcome{}, err
	}
	if err := c.writeAll(b); err != nil {
		return Welcome{}, SendError(c, "send hello", err)
	}
	var in [welcomeSize]byte
	err = c.readFull(ctx, in[:])
	for n := 0; err == nil && n < MostProds && isWait(in[:]); n++ { // one that says it for ever is no receiver
		err = c.readFull(ctx, in[:])
	}
	if err != nil {
		how := "the receiver closes connections with a wrong cookie, any beyond its flows, and those with an option " +
			"that does not fit its own: check --cookie, --flows, --tls, --then and --both at both ends, and that " +
			"nothing else uses that port"
		if errors.Is(err, context.DeadlineExceeded) {
			how = "a receiver welcomes its flows once the last one has arrived and is steered: allow more time " +
				"(--connect-timeout); otherwise  " + how
		}
		return Welcome{}, &fault.Error{Op: "wait for the receiver's welcome", Err: err, Peer: true, How: how}
	}
	return parseWelcome(in[:])
}

// MostProds is how often a flow may be prodded: a NIC may take a moment to follow a rule.
const MostProds = 3

// Prod has the sender's kernel send a packet, before the flow is welcome: it acknowledges a word
// that says nothing. [Conn.Answered] tells when it has.
func (c *Conn) Prod() error {
	b, err := wait{}.AppendBinary(nil)
	if err == nil {
		err = c.words().writeAll(b)
	}
	if err != nil {
		return SendError(c, "have the sender answer", err)
	}
	return nil
}

// Answered waits, at most so long, until the sender's kernel has acknowledged everything.
func (c *Conn) Answered(limit time.Duration) error {
	if err := c.words().delivered(limit); err != nil {
		return SendError(c, "have the sender answer", err)
	}
	return nil
}

// Welcome sends the welcome, upon which the sender begins.
func (c *Conn) Welcome(w Welcome) error {
	b, err := w.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := c.words().writeAll(b); err != nil {
		return SendError(c, "send welcome", err)
	}
	return c.EncryptAnswers()
}

// deliveryTime is how long the peer's kernel may take to acknowledge the farewell.
var deliveryTime = time.Second // tests have more patience

// SendFarewell sends the receiver's account of the flow, its last word, and waits until it is
// delivered.
func (c *Conn) SendFarewell(f Farewell) error {
	b, err := f.AppendBinary(nil)
	if err != nil {
		return err
	}
	err = c.words().writeAll(b)
	if err == nil {
		err = c.words().delivered(deliveryTime)
	}
	if err != nil {
		return &fault.Error{Op: "the sender ended the flow without waiting for the receiver's account of it", Err: err,
			Peer: true,
			How:  "it was killed or gave up early: see its own message"}
	}
	return nil
}

// delivered waits, at most so long, until the peer's kernel has acknowledged
// everything. A sender that was killed is no different from one that has ended
// its flow until then: both send a FIN. But its kernel answers data with a reset.
func (c *Conn) delivered(limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left, err := unix.IoctlGetInt(c.FD, unix.SIOCOUTQ)
		if err != nil {
			return err
		}
		// After it: a reset empties the queue.
		if errno, err := unix.GetsockoptInt(c.FD, unix.SOL_SOCKET, unix.SO_ERROR); err != nil {
			return err
		} else if errno != 0 {
			return unix.Errno(errno)
		}
		if left == 0 {
			return nil
		}
	}
	return nil // a slow path: its sender says what is wrong
}

// ReadFarewell waits until limit for the receiver's account, at the sender.
func (c *Conn) ReadFarewell(limit time.Time) (Farewell, error) {
	ctx, cancel := context.WithDeadline(context.Background(), limit)
	defer cancel()
	var in [farewellSize]byte
	if err := c.words().readFull(ctx, in[:]); err != nil {
		return Farewell{}, c.unaccounted(err)
	}
	return parseFarewell(in[:])
}

// unaccounted explains why the receiver's account did not come: where no full segment came through,
// or the link is gone, the receiver has nothing to say.
func (c *Conn) unaccounted(err error) error {
	const op = "wait for the receiver's account of the flow"
	how := remedy.SmallOnly(remedy.On{Local: c.Local, Remote: c.Remote, FD: c.words().FD})
	switch {
	case how != "":
		return &fault.Error{Op: op, Err: err, How: how}
	case errors.Is(err, unix.ETIMEDOUT), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
		return SendError(c, op, err)
	}
	return &fault.Error{Op: op, Err: err, Peer: true,
		How: "the receiver exited before it had read everything: see its own message"}
}

// writeAll sends a frame, which the socket buffer of a new connection holds.
func (c *Conn) writeAll(b []byte) error {
	n, errno := sock.Send(c.FD, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	if errno != 0 {
		return errno
	}
	if n != len(b) {
		return fmt.Errorf("the socket took %d of %d bytes", n, len(b))
	}
	return nil
}

// readFull reads a frame, sleeping in short steps so that the end of ctx is
// heard.
func (c *Conn) readFull(ctx context.Context, b []byte) error {
	var w sock.Waiter
	for len(b) > 0 {
		n, errno := sock.Recv(c.FD, b, unix.MSG_DONTWAIT)
		switch {
		case errno == 0 && n == 0:
			return errors.Join(errors.New("the peer closed the connection"), c.Aborted())
		case errno == 0:
			b = b[n:]
		case errno != unix.EAGAIN && errno != unix.EINTR:
			return errno
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			w.Wait(c.FD, unix.POLLIN, 50)
		}
	}
	return nil
}
