// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"net"

	"github.com/zcbench/zcbench/flow/sock"
)

// Transport is how flows of a kind are opened: what lies below a [Conn]. That of streams is here,
// those of other kinds are in the folders of their modes.
type Transport interface {
	// Listen opens the data port at addr for so many flows that know the cookie.
	Listen(addr string, cookie Cookie, flows int, o sock.Options) (Listener, error)
	// Dial opens one flow to a data port. It tries until ctx ends while nothing listens there.
	Dial(ctx context.Context, addr string, h Hello, o sock.Options) (*Conn, Welcome, error)
}

// Listener is a data port: it takes the flows that know the cookie, and closes and counts
// whatever else comes.
type Listener interface {
	Addr() net.Addr
	// Accept waits for the next flow: each number comes once.
	Accept(ctx context.Context) (*Conn, Hello, error)
	// Strangers is how much came that was no flow.
	Strangers() uint64
	Close() error
}

// TCP opens flows of streams: connections.
type TCP struct{}

func (TCP) Listen(addr string, cookie Cookie, flows int, o sock.Options) (Listener, error) {
	p, err := ListenFor(addr, cookie, flows, o)
	if err != nil {
		return nil, err // and no port that is nil
	}
	return p, nil
}

func (TCP) Dial(ctx context.Context, addr string, h Hello, o sock.Options) (*Conn, Welcome, error) {
	return Dial(ctx, addr, h, o)
}
