// SPDX-License-Identifier: MIT

package sock

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Bytes that fill no page are skipped and left to recv; the end of the
// stream is told.
func TestMapper(t *testing.T) {
	rx, tx := pair(t, "127.0.0.1:0", Options{})
	window, err := MapWindow(rx, 64<<10)
	if err != nil {
		t.Skip(err) // a kernel before 4.18
	}
	defer unix.Munmap(window)
	var m Mapper
	if got, errno := m.Receive(rx, window, true); got != (Mapped{}) || errno != 0 {
		t.Errorf("nothing there: %+v, %v", got, errno)
	}
	send(t, tx, make([]byte, 100), 0)
	ready(t, rx, unix.POLLIN)
	if got, errno := m.Receive(rx, window, true); got != (Mapped{Skip: 100, Left: true}) || errno != 0 {
		t.Errorf("100 bytes: %+v, %v", got, errno)
	}
	if n, errno := Recv(rx, make([]byte, 200), unix.MSG_DONTWAIT); n != 100 || errno != 0 {
		t.Errorf("%d, %v", n, errno)
	}
	if _, errno := m.Receive(rx, window[1:], true); errno != unix.EINVAL {
		t.Errorf("unaligned window: %v", errno)
	}
	unix.Shutdown(tx, unix.SHUT_WR)
	ready(t, rx, unix.POLLIN)
	if _, errno := m.Receive(rx, window, true); errno != unix.EIO {
		t.Errorf("at the end of the stream: %v", errno)
	}
	if errno := Unmap(window); errno != 0 {
		t.Error(errno)
	}
	if _, errno := m.Receive(-1, window, true); errno != unix.EBADF {
		t.Errorf("no descriptor: %v", errno)
	}
}
