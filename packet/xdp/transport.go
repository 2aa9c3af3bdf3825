// SPDX-License-Identifier: MIT

package xdp

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// Transport opens flows of frames: cookie, hello, welcome, end and farewell go by a TCP connection
// to the data port. The frames have its addresses and ports, and UDP's number: the kernel has no
// socket for them, unless the mode opens one.
type Transport struct{}

type listener struct{ *stream.Port }

// Listen opens the data port.
func (Transport) Listen(addr string, cookie stream.Cookie, flows int, _ sock.Options) (stream.Listener, error) {
	p, err := stream.ListenFor(addr, cookie, flows, sock.Options{})
	if err != nil {
		return nil, err // and no listener that has none
	}
	return &listener{p}, nil
}

// Accept waits for the next flow.
func (l *listener) Accept(ctx context.Context) (*stream.Conn, stream.Hello, error) {
	words, h, err := l.Port.Accept(ctx)
	if err != nil {
		return nil, h, err
	}
	return beside(words, h), h, nil
}

// Dial opens one flow.
func (Transport) Dial(ctx context.Context, addr string, h stream.Hello, _ sock.Options) (*stream.Conn, stream.Welcome,
	error) {
	words, w, err := stream.Dial(ctx, addr, h, sock.Options{})
	if err != nil {
		return nil, w, err
	}
	return beside(words, h), w, nil
}

func beside(words *stream.Conn, h stream.Hello) *stream.Conn {
	return &stream.Conn{FD: -1, Local: sock.UnmapAddr(words.Local), Remote: sock.UnmapAddr(words.Remote), Words: words,
		Key: uint64(tagOf(h.Cookie))}
}

func bare(a netip.AddrPort) netip.Addr { return a.Addr().Unmap().WithZone("") }

// tagOf derives the tag of all frames of a run. It does not reveal the cookie.
func tagOf(c stream.Cookie) uint32 {
	sum := sha256.Sum256(c[:])
	return binary.BigEndian.Uint32(sum[:])
}

// TuplesOf makes the flows of frames from one end of a connection to the other. Their ports begin
// with the sender's, or so that all have room above it.
func TuplesOf(sender, receiver netip.AddrPort, n int) Tuples {
	n = max(n, 1)
	return Tuples{Source: bare(sender), Dest: bare(receiver), FirstPort: min(sender.Port(), uint16(1<<16-n)), Ports: n,
		DestPort: receiver.Port()}
}
