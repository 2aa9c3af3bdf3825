// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"fmt"
	"net"

	"github.com/zcbench/zcbench/flow/sock"
)

// Transport is how flows of a kind are opened: what lies below a [Conn]. That of streams is here;
// folders of modes of other kinds register theirs.
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

// Transport looks up the transport of the mode's kind.
func (m Mode) Transport() (Transport, error) {
	if t, ok := transports[m.Kind]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("%s %s carries %v, and no transport opens such flows", m.Role, m.Name, m.Kind)
}

// transports are those there are.
var transports = map[Kind]Transport{Stream: tcp{}}

// RegisterTransport sets how flows of a kind are opened. It is called while packages are
// initialised, once for each kind.
func RegisterTransport(k Kind, t Transport) {
	if transports[k] != nil {
		panic(fmt.Sprintf("two transports of %v", k))
	}
	transports[k] = t
}

// tcp opens connections.
type tcp struct{}

func (tcp) Listen(addr string, cookie Cookie, flows int, o sock.Options) (Listener, error) {
	p, err := ListenFor(addr, cookie, flows, o)
	if err != nil {
		return nil, err // and no port that is nil
	}
	return p, nil
}

func (tcp) Dial(ctx context.Context, addr string, h Hello, o sock.Options) (*Conn, Welcome, error) {
	return Dial(ctx, addr, h, o)
}
