// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// exchange sends n bytes over loopback TCP and returns both sockets.
func exchange(t *testing.T, n int) (sender, receiver *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); a.Close() })
	send(t, c.(*net.TCPConn), a.(*net.TCPConn), n)
	return c.(*net.TCPConn), a.(*net.TCPConn)
}

func send(t *testing.T, c, a *net.TCPConn, n int) {
	t.Helper()
	errs := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, n))
		errs <- err
	}()
	buf := make([]byte, 64<<10)
	for n > 0 {
		k, err := a.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		n -= k
	}
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
}

func TestReadLink(t *testing.T) {
	before, err := ReadLink("lo")
	if err != nil {
		t.Fatal(err)
	}
	const n = 1 << 20
	exchange(t, n)
	after, err := ReadLink("lo")
	if err != nil {
		t.Fatal(err)
	}
	if d := after.Stats.RxBytes - before.Stats.RxBytes; d < n {
		t.Errorf("lo received %d bytes of %d", d, n)
	}
	if after.MTU < 1500 || after.GSOMaxSize == 0 || after.Index == 0 {
		t.Errorf("lo: %+v", after)
	}
	_, err = ReadLink("nosuchdev0")
	if !errors.Is(err, unix.ENODEV) {
		t.Errorf("an interface that is not there: %v", err)
	}
}
