// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// handshakeTime is how long a connection may take to say hello. A flow's own
// hello is in flight when it connects.
var handshakeTime = 3 * time.Second // tests have less patience

// maxPending is how many connections may be in their handshake at once. One more
// waits in the backlog until one is done, or the oldest has had its helloTime and
// is closed: a crowd of silent strangers neither keeps the flow out nor throws it
// out between its connection and its hello, which comes with it. They are as many as
// a backlog holds (net.core.somaxconn), so that who is in it waits for a helloTime, where the
// process may have 16384 descriptors or more; with fewer, as many times longer.
var maxPending = 4096 // tests have less room

var helloTime = time.Second // tests have more patience

// pendingRoom limits how many may be pending: a quarter of the process's descriptors at most,
// because the rest of it must go on.
func pendingRoom() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return maxPending
	}
	return int(min(uint64(maxPending), max(files.Cur/4, 16)))
}

// Port is a data port: it takes the flows that have the cookie and the numbers from 0 on, each
// once, and closes and counts every other connection, before, during and after them.
type Port struct {
	ln        net.Listener
	more      []net.Listener // of other addresses, with the same port
	cookie    Cookie
	room      int // for pending ones
	flow      chan accepted
	strangers atomic.Uint64
	unread    atomic.Uint64 // of them, those whose first bytes could not be read

	mu      sync.Mutex
	taken   []bool // by their numbers
	left    int    // flows that have not come
	closed  bool
	pending []pending // oldest first
	refused error     // why the last connection could not be taken; nil: it was
}

type pending struct {
	conn  net.Conn
	since time.Time
}

type accepted struct {
	conn  *net.TCPConn
	hello Hello
}

// Listen opens the data port of one flow, see [ListenFor].
func Listen(addr string, cookie Cookie, o sock.Options) (*Port, error) {
	return ListenFor(addr, cookie, 1, o)
}

// ListenFor opens the data port at addr ("10.0.0.1:5201", "[::1]:0") for so many flows, with o
// on the listening socket, from which the flows' sockets inherit it.
func ListenFor(addr string, cookie Cookie, flows int, o sock.Options) (*Port, error) {
	p, err := openPort(addr, cookie, flows, o)
	if err != nil {
		return nil, err
	}
	go p.acceptLoop(p.ln)
	return p, nil
}

// Also listens on another address, with the port's number, for flows of the same numbers: for an
// end that has several interfaces.
func (p *Port) Also(host string, o sock.Options) error {
	_, port, err := net.SplitHostPort(p.Addr().String())
	if err != nil {
		return err
	}
	ln, err := listenOn(net.JoinHostPort(host, port), o)
	if err != nil {
		return err
	}
	p.more = append(p.more, ln)
	go p.acceptLoop(ln)
	return nil
}

// openPort opens a port that does not take connections yet.
func openPort(addr string, cookie Cookie, flows int, o sock.Options) (*Port, error) {
	ln, err := listenOn(addr, o)
	if err != nil {
		return nil, err
	}
	return &Port{ln: ln, cookie: cookie, room: pendingRoom(), flow: make(chan accepted, flows),
		taken: make([]bool, flows), left: flows}, nil
}

func listenOn(addr string, o sock.Options) (net.Listener, error) {
	lc := net.ListenConfig{Control: control(o)}
	lc.SetMultipathTCP(false) // the default since Go 1.24; the flow is to be plain TCP
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, listenError(addr, err)
	}
	return ln, nil
}

func control(o sock.Options) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var serr error
		err := c.Control(func(fd uintptr) { serr = o.Apply(int(fd)) })
		return errors.Join(err, serr)
	}
}

// listenError explains why a port could not be opened, by the call that Go says has failed.
func listenError(addr string, err error) error {
	call, at := remedy.Listen, netip.AddrPort{}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		switch sys.Syscall {
		case "socket":
			call = remedy.Socket
		case "bind":
			call = remedy.Bind
		case "setsockopt":
			call = remedy.GetOption
		}
	}
	at, _ = netip.ParseAddrPort(addr)
	return remedy.Error(call, "listen on "+addr, err, remedy.On{Local: at})
}

// Addr returns where the port listens.
func (p *Port) Addr() net.Addr { return p.ln.Addr() }

// Strangers returns how many connections were closed because they were not the flow.
func (p *Port) Strangers() uint64 { return p.strangers.Load() }

func (p *Port) acceptLoop(ln net.Listener) {
	for {
		c, err := p.take(ln)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors: let some close
			continue
		}
		for !p.admit(c) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// take takes the next connection, and keeps why it could not.
func (p *Port) take(ln net.Listener) (net.Conn, error) {
	c, err := ln.Accept()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = err
	return c, err
}

// admit begins the handshake of c, or closes it where none is wanted. It reports
// false while too many others are in theirs.
func (p *Port) admit(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 || p.closed {
		p.strangers.Add(1)
		c.Close()
		return true
	}
	if len(p.pending) >= p.room {
		if time.Since(p.pending[0].since) < helloTime {
			return false
		}
		p.pending[0].conn.Close() // its handshake fails and counts it
		p.pending = p.pending[1:]
	}
	p.pending = append(p.pending, pending{c, time.Now()})
	go p.handshake(c)
	return true
}

func (p *Port) handshake(c net.Conn) {
	c.SetDeadline(time.Now().Add(handshakeTime))
	var b [helloSize]byte
	_, err := io.ReadFull(c, b[:])
	h, perr := ParseHello(b[:])
	if errors.Is(err, unix.EFAULT) { // tcp_recvmsg, of payload in a queue's foreign memory
		p.unread.Add(1)
	}
	ok := err == nil && perr == nil && subtle.ConstantTimeCompare(h.Cookie[:], p.cookie[:]) == 1
	looks := ok && h.Looks
	if !p.settle(c, h, ok && !looks) {
		if !looks {
			p.strangers.Add(1)
		}
		c.Close()
	}
}

// settle takes c from the pending; it reports whether c became a flow. One that is no longer
// pending was closed. A sender that has another number of flows than are waited for is no
// stranger: to wait for the rest of them would take until the time is up.
func (p *Port) settle(c net.Conn, h Hello, ok bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.pending, func(q pending) bool { return q.conn == c })
	if at < 0 {
		return false
	}
	p.pending = slices.Delete(p.pending, at, at+1)
	if !ok || p.left == 0 || p.closed {
		return false
	}
	if h.Flows == len(p.taken) && p.taken[h.Flow] {
		return false
	}
	if p.left--; h.Flows == len(p.taken) {
		p.taken[h.Flow] = true
	} else {
		p.left = 0 // Accept says why
	}
	if p.left == 0 {
		for _, q := range p.pending {
			q.conn.Close() // too late: its handshake fails and counts it
		}
	}
	c.SetDeadline(time.Time{})
	p.flow <- accepted{c.(*net.TCPConn), h} // under the lock, so that Close finds it; there is room for all
	return true
}

// Accept waits for the next flow. The peer waits for [Conn.Welcome].
func (p *Port) Accept(ctx context.Context) (*Conn, Hello, error) {
	select {
	case a := <-p.flow:
		if got, want := a.hello.Flows, len(p.taken); got != want {
			return nil, Hello{}, errors.Join(&fault.Error{
				Op:  fmt.Sprintf("the sender has %d flows, but %d are expected", got, want),
				How: "give both ends the same --flows"}, a.conn.Close())
		}
		conn, err := Detach(a.conn)
		return conn, a.hello, err
	case <-ctx.Done():
		return nil, Hello{}, p.nobody(ctx)
	}
}

// nobody makes the error for a flow that did not come in time.
func (p *Port) nobody(ctx context.Context) error {
	at, _ := netip.ParseAddrPort(p.Addr().String())
	on := remedy.On{Local: at, Together: isTogether(ctx)}
	p.mu.Lock()
	refused := p.refused
	p.mu.Unlock()
	if refused != nil {
		return remedy.Error(remedy.Accept, "wait for the sender on "+p.Addr().String(), refused, on)
	}
	if n := p.unread.Load(); n > 0 {
		return &fault.Error{Op: fmt.Sprintf("wait for the sender on %s: what %d connections sent first came by a "+
			"queue whose memory recv cannot read", p.Addr(), n), Err: unix.EFAULT,
			How: "run it again: by which queue a flow comes first depends on its ports, where the NIC has no RSS " +
				"table; more queues make it rarer (ethtool -L)"}
	}
	how := remedy.How(remedy.Accept, unix.ETIMEDOUT, on)
	return &fault.Error{Op: "wait for the sender on " + p.Addr().String(), Err: context.Cause(ctx), Peer: true,
		How: fmt.Sprintf("%s; %sconnections refused so far: %d", how, p.missing(), p.Strangers())}
}

// missing names the first of several flows that has not come, and counts those that have.
func (p *Port) missing() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := slices.Index(p.taken, false)
	if len(p.taken) == 1 || first < 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d flows arrived, flow %d did not; ", len(p.taken)-p.left, len(p.taken), first)
}

// Close stops listening and drops what is pending.
func (p *Port) Close() error {
	p.mu.Lock()
	p.closed = true
	for _, q := range p.pending {
		q.conn.Close()
	}
	p.mu.Unlock()
	for {
		select {
		case a := <-p.flow:
			a.conn.Close()
		default:
			err := p.ln.Close()
			for _, ln := range p.more {
				err = errors.Join(err, ln.Close())
			}
			return err
		}
	}
}
