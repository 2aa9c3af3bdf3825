// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// ErrAborted ends a data path whose run was called off.
var ErrAborted = errors.New("the run was aborted")

// Conn is the flow's socket: non-blocking, and not known to the Go runtime's
// poller.
type Conn struct {
	FD            int // -1: closed, or a flow of frames, which has no socket for payload
	Local, Remote netip.AddrPort
	Pace          *Pace  // of a sender; nil sends as fast as it can
	Turns         *Turns // of a receiver; nil: its flow is on all the time

	// Words is the connection by which both ends speak before and after payload, where that
	// has a socket of its own or none: of packets, which may be lost. Nil: FD.
	Words *Conn
	// Key is what the tags of a flow of packets are made of, which both ends know.
	Key uint64
	// Sent is how many packets the sender of such a flow has sent: its path says so, before
	// EndOfSend; at the receiver it is what the sender told.
	Sent uint64

	// TLS is of a flow whose payload is in records; nil: it is plain.
	TLS *Encryption

	// Visits are of a flow whose requests each come by a connection of its own.
	Visits Visiting

	// SteerTo is the RX queue to steer the flow to instead of its path's: a control run, which
	// shows that copying would be noticed. Nil: none.
	SteerTo *int

	stopping atomic.Bool
	aborted  atomic.Bool
	mu       sync.Mutex // Abort must not shut down whatever has the number after Close
}

// Detach takes the socket out of c, which it closes.
func Detach(c *net.TCPConn) (*Conn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, cerr := -1, error(nil)
	err = raw.Control(func(orig uintptr) {
		// The duplicate shares O_NONBLOCK with the original but not its
		// registration with the runtime's epoll.
		fd, cerr = unix.FcntlInt(orig, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, cerr); err != nil {
		return nil, remedy.Error(remedy.Fcntl, "duplicate the flow's socket", err, remedy.On{})
	}
	out := &Conn{FD: fd, Local: addrPort(c.LocalAddr()), Remote: addrPort(c.RemoteAddr())}
	return out, c.Close()
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort()
	}
	return netip.AddrPort{}
}

// Stop asks a sender to end the flow after the current call.
func (c *Conn) Stop() { c.stopping.Store(true) }

// Stopping reports whether Stop or Abort was called.
func (c *Conn) Stopping() bool { return c.stopping.Load() }

// Abort ends the flow at once: calls on the socket return, and Close resets the
// connection. Without the reset a receiver that has closed its window and then
// closes in good order would leave the sender waiting for the window.
func (c *Conn) Abort() {
	c.aborted.Store(true)
	c.stopping.Store(true)
	if c.Words != nil {
		c.Words.Abort()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.FD >= 0 {
		unix.SetsockoptLinger(c.FD, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		unix.Shutdown(c.FD, unix.SHUT_RDWR)
	}
}

// Aborted returns [ErrAborted] after Abort, else nil.
func (c *Conn) Aborted() error {
	if c.aborted.Load() {
		return ErrAborted
	}
	return nil
}

// EndOfSend announces to the peer that no payload follows and, for packets, how many there were.
func (c *Conn) EndOfSend() error {
	if c.TLS.InKernel() {
		return c.closeNotify()
	}
	w := c.words()
	if c.Words != nil {
		b, err := Ended{Packets: c.Sent}.AppendBinary(nil)
		if err == nil {
			err = w.writeAll(b)
		}
		if err != nil {
			return &fault.Error{Op: "tell the receiver that no more packets follow", Err: err, Peer: true,
				How: "the receiver broke off: see its own message"}
		}
	}
	if err := unix.Shutdown(w.FD, unix.SHUT_WR); err != nil {
		return remedy.Error(remedy.Shutdown, "shutdown the sending side", err,
			remedy.On{Local: c.Local, Remote: c.Remote})
	}
	return nil
}

// Close closes the socket. Data still to be sent is sent first, unless Abort was
// called.
func (c *Conn) Close() (err error) {
	if c.Words != nil {
		err = c.Words.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.FD < 0 {
		return err
	}
	fd := c.FD
	c.FD = -1
	return errors.Join(err, unix.Close(fd), c.TLS.close())
}

// words returns the connection over which both ends talk.
func (c *Conn) words() *Conn {
	if c.Words != nil {
		return c.Words
	}
	return c
}
