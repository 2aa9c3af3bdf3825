// SPDX-License-Identifier: MIT

package records

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

// The alert that ends payload comes behind it. A plain read fails there, and then it can be taken,
// once.
func TestCloseNotify(t *testing.T) {
	kind.Kernel(t)
	if !Loaded() {
		t.Skip("the kernel has no kTLS, or has not loaded it (modprobe tls)")
	}
	tx, rx := pair(t)
	for fd, sends := range map[int]bool{tx: true, rx: false} {
		if _, err := Give(fd, sends, Kernel, TLS13, key(t, secret, 0, false)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := unix.Write(tx, []byte("payload")); err != nil {
		t.Fatal(err)
	}
	if err := Notify(tx); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := unix.Read(rx, b); err != nil || string(b[:n]) != "payload" {
		t.Errorf("%q, %v", b[:max(n, 0)], err)
	}
	if n, err := unix.Read(rx, b); !errors.Is(err, unix.EIO) {
		t.Errorf("%d, %v", n, err)
	}
	if !Notified(rx) || Notified(rx) {
		t.Error("the alert was not there, or twice")
	}
}

// pair makes a connection over loopback whose ends do not sleep for ever.
func pair(t *testing.T) (tx, rx int) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	end := func(c net.Conn, err error) int {
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var f *os.File
		if f, err = c.(*net.TCPConn).File(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		fd := int(f.Fd())
		tv := unix.NsecToTimeval(await.Hang.Nanoseconds())
		if err := errors.Join(unix.SetNonblock(fd, false),
			unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	tx = end(net.Dial("tcp4", l.Addr().String()))
	return tx, end(l.Accept())
}
