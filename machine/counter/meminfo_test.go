// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// What lies in a socket unread is in its memory; what found no room there it has dropped.
func TestReadMemInfo(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := unix.Sendto(fd, make([]byte, 1000), 0, at); err != nil {
			t.Fatal(err)
		}
	}
	m, err := ReadMemInfo(fd)
	if err != nil {
		t.Fatal(err)
	}
	if m.RcvBuf != 8192 || m.RmemAlloc < 1000 || m.Drops == 0 || m.Drops > 19 || m.SndBuf == 0 {
		t.Errorf("%+v", m)
	}
	if _, err := ReadMemInfo(1 << 20); !errors.Is(err, unix.EBADF) {
		t.Errorf("of no socket: %v", err)
	}
}
