// SPDX-License-Identifier: MIT

package datagram

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// Transport opens flows of datagrams.
type Transport struct{}

// attempts is how often another port is tried where UDP's of the same number is taken.
const attempts = 16

// listener is a data port with UDP's port of the same number.
type listener struct {
	*stream.Port
	options   sock.Options // of the datagrams' sockets
	flows     int
	strangers atomic.Uint64 // datagrams
}

// payloadOptions selects the options of a flow that concern the socket of its datagrams.
func payloadOptions(o sock.Options) sock.Options {
	return sock.Options{RcvBuf: o.RcvBuf, SndBuf: o.SndBuf, BusyPollUs: o.BusyPollUs, BusyBudget: o.BusyBudget}
}

// Listen opens the data port, and sees that the datagrams' can be opened.
func (Transport) Listen(addr string, cookie stream.Cookie, flows int, o sock.Options) (stream.Listener, error) {
	for again := 1; ; again++ {
		p, err := stream.ListenFor(addr, cookie, flows, sock.Options{})
		if err != nil {
			return nil, err
		}
		l := &listener{Port: p, options: payloadOptions(o), flows: flows}
		at := p.Addr().(*net.TCPAddr).AddrPort()
		fd, err := bound(at, l.options, flows > 1)
		if err == nil {
			unix.Close(fd)
			return l, nil
		}
		p.Close()
		if _, port, _ := net.SplitHostPort(addr); port != "0" || !errors.Is(err, unix.EADDRINUSE) || again == attempts {
			return nil, err
		}
	}
}

// Accept waits for the next flow, and opens the socket of its datagrams.
func (l *listener) Accept(ctx context.Context) (*stream.Conn, stream.Hello, error) {
	words, h, err := l.Port.Accept(ctx)
	if err != nil {
		return nil, h, err
	}
	c, err := beside(words, l.options, l.flows > 1)
	if err != nil {
		return nil, h, errors.Join(err, words.Close())
	}
	c.Key = keyOf(h.Cookie, h.Flow)
	// What came before the socket was connected is nobody's: the sender waits for its welcome.
	l.strangers.Add(drain(c.FD))
	return c, h, nil
}

// Strangers returns how many connections and datagrams came that were of no flow.
func (l *listener) Strangers() uint64 { return l.Port.Strangers() + l.strangers.Load() }

// Dial opens one flow.
func (Transport) Dial(ctx context.Context, addr string, h stream.Hello, o sock.Options) (*stream.Conn, stream.Welcome,
	error) {
	for again := 1; ; again++ {
		var c *stream.Conn
		words, w, err := stream.DialBeside(ctx, addr, h, sock.Options{}, func(words *stream.Conn) (err error) {
			c, err = beside(words, payloadOptions(o), false)
			return err
		})
		switch {
		case err == nil:
			c.Words, c.Key = words, keyOf(h.Cookie, h.Flow)
			return c, w, nil
		case c != nil:
			unix.Close(c.FD)
		case errors.Is(err, unix.EADDRINUSE) && again < attempts:
			continue // the connection's next port may be free
		}
		return nil, w, err
	}
}

// beside makes the flow of datagrams beside a connection: between the same addresses and ports.
func beside(words *stream.Conn, o sock.Options, shared bool) (*stream.Conn, error) {
	fd, err := bound(words.Local, o, shared)
	if err != nil {
		return nil, err
	}
	if err := connect(fd, words.Remote); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &stream.Conn{FD: fd, Local: sock.UnmapAddr(words.Local), Remote: sock.UnmapAddr(words.Remote), Words: words},
		nil
}
