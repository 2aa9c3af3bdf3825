// SPDX-License-Identifier: MIT

package stream_test

import (
	"errors"
	"net"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// arrived is both ends of a flow that has come and is not welcome yet.
func arrived(t *testing.T) (rx *stream.Conn, tx net.Conn) {
	t.Helper()
	cookie := stream.NewCookie()
	p := listen(t, cookie)
	tx = connect(t, p)
	b, err := helloOf(cookie).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Write(b); err != nil {
		t.Fatal(err)
	}
	if rx, _, err = p.Accept(await.Context(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rx.Close() })
	return rx, tx
}

// A sender that goes before it is welcome is noticed by what its kernel says of it.
func TestLeft(t *testing.T) {
	for name, reset := range map[string]bool{"closed": false, "reset": true} {
		rx, tx := arrived(t)
		if err := rx.Left(); err != nil {
			t.Errorf("%s: it waits, and yet: %v", name, err)
		}
		if reset {
			tx.(*net.TCPConn).SetLinger(0)
		}
		tx.Close()
		var err error
		await.Until(t, name+": noticed", func() bool { err = rx.Left(); return err != nil })
		if errors.Is(err, unix.ECONNRESET) != reset || !fault.BlamesPeer(err) || fault.Fix(err) == "" {
			t.Errorf("%s: %v; fix %q", name, err, fault.Fix(err))
		}
		if rx.Left() == nil {
			t.Errorf("%s: it came back", name)
		}
	}
}

// A flow that we ended ourselves was not left by its sender.
func TestLeftByUs(t *testing.T) {
	for name, end := range map[string]func(*stream.Conn){"aborted": (*stream.Conn).Abort,
		"closed": func(c *stream.Conn) { c.Close() }} {
		rx, _ := arrived(t)
		if end(rx); rx.Left() != nil {
			t.Errorf("%s: %v", name, rx.Left())
		}
	}
}
