// SPDX-License-Identifier: MIT

package softnictest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// addr is the receiver's address.
func (f family) addr() netip.Addr {
	s := rx.V4
	if f == v6 {
		s = rx.V6
	}
	return netip.MustParsePrefix(s).Addr()
}

type family int

const (
	v4 family = 4
	v6 family = 6
)

// longest is the most that a transfer sends.
const longest = 32 << 20

// random is made once: that takes longer than to send it.
var random = sync.OnceValue(func() []byte {
	b := make([]byte, longest)
	r := rand.NewChaCha8([32]byte{1, 2, 3})
	r.Read(b)
	return b
})

// payload is n bytes without a short period. It is not to be written to.
func payload(n int) []byte { return random()[:n:n] }

// listen opens a TCP port at the receiver.
func listen(t testing.TB, f family, port uint16) net.Listener {
	t.Helper()
	l := in(t, rx.NS, func() (net.Listener, error) {
		// Plain TCP: Go listens with MPTCP where it can, and the kernel keeps an
		// MPTCP socket that was never accepted, with its namespace, for a minute
		// after its end.
		var lc net.ListenConfig
		lc.SetMultipathTCP(false)
		return lc.Listen(context.Background(), "tcp", netip.AddrPortFrom(f.addr(), port).String())
	})
	t.Cleanup(func() { l.Close() })
	return l
}

// dial connects from the sender's end. The listener's backlog answers.
func dial(t testing.TB, l net.Listener) net.Conn {
	t.Helper()
	return dialFrom(t, l, 0)
}

// dialFrom is dial from a given port, if it is not 0.
func dialFrom(t testing.TB, l net.Listener, port int) net.Conn {
	t.Helper()
	c := in(t, tx.NS, func() (net.Conn, error) {
		d := net.Dialer{Timeout: await.Hang, LocalAddr: &net.TCPAddr{Port: port}}
		return d.Dial("tcp", l.Addr().String())
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// send writes data to c in the background and closes the sending side.
func send(c net.Conn, data []byte) <-chan error {
	errc := make(chan error, 1)
	go func() {
		_, err := c.Write(data)
		errc <- errors.Join(err, c.(*net.TCPConn).CloseWrite())
	}()
	return errc
}

// transfer sends n bytes to the listener and checks that they arrive unchanged.
func transfer(t testing.TB, l net.Listener, n int) {
	t.Helper()
	if err := tryTransfer(t, l, n); err != nil {
		t.Fatal(err)
	}
}

func tryTransfer(t testing.TB, l net.Listener, n int) error {
	return transferOver(dial(t, l), l, n)
}

// transferOver is tryTransfer over c, the listener's next connection.
func transferOver(c net.Conn, l net.Listener, n int) error {
	data := payload(n)
	r, err := l.Accept()
	if err != nil {
		return err
	}
	defer r.Close()
	defer c.Close()
	deadline := await.Deadline()
	c.SetDeadline(deadline)
	r.SetDeadline(deadline)
	sent := send(c, data)
	got, err := compare(r, data)
	if err := errors.Join(err, <-sent); err != nil {
		return fmt.Errorf("after %d of %d bytes: %w", got, n, err)
	}
	return nil
}

// compare reads to the end and fails at the first byte that differs from data, or is
// missing, or one too many.
func compare(r io.Reader, data []byte) (got int, err error) {
	for b := make([]byte, 256<<10); ; {
		n, err := r.Read(b)
		if n > len(data)-got {
			return got, fmt.Errorf("more than %d bytes arrived", len(data))
		}
		if want := data[got : got+n]; !bytes.Equal(b[:n], want) {
			for i := range want {
				if b[i] != want[i] {
					return got, fmt.Errorf("byte %d is %#x, sent was %#x", got+i, b[i], want[i])
				}
			}
		}
		got += n
		if err == io.EOF && got == len(data) {
			return got, nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return got, err
		}
	}
}

// traffic sends small transfers one after the other until stopped, and fails
// the test if one is damaged or hangs. await waits until so many that began after its
// call are complete.
func traffic(t testing.TB, l net.Listener) (await func(n int), stop func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	done, complete := make(chan error, 1), make(chan struct{})
	n := 0
	go func() {
		defer close(complete)
		var err error
		for ctx.Err() == nil && err == nil {
			if err = tryTransfer(t, l, 1<<20); err != nil {
				break
			}
			n++
			select {
			case complete <- struct{}{}:
			default:
			}
		}
		done <- err
	}()
	await = func(n int) {
		for range 1 + n { // the first began before
			<-complete
		}
	}
	return await, func() int {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("traffic: %v", err)
		}
		return n
	}
}

// dialTimeout connects from the sender's end or says why not.
func dialTimeout(t testing.TB, l net.Listener, limit time.Duration) (net.Conn, error) {
	t.Helper()
	type result struct {
		c   net.Conn
		err error
	}
	r := in(t, tx.NS, func() (result, error) {
		c, err := net.DialTimeout("tcp", l.Addr().String(), limit)
		return result{c, err}, nil
	})
	if r.err == nil {
		r.c.Close()
	}
	return r.c, r.err
}

// dialAddr connects from the current namespace.
func dialAddr(a netip.AddrPort) (io.WriteCloser, error) {
	return net.DialTimeout("tcp", a.String(), await.Hang)
}
