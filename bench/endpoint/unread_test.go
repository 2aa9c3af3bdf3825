// SPDX-License-Identifier: MIT

package endpoint

import (
	"net"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"golang.org/x/sys/unix"
)

// accepted makes a TCP connection over loopback, and returns its ends.
func accepted(t *testing.T) (from net.Conn, fd int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if from, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close() })
	to, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	raw, err := to.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(n uintptr) { fd = int(n) }); err != nil {
		t.Fatal(err)
	}
	return from, fd
}

// The kernel says in how many looks payload lay unread; of too few looks nothing is said.
func TestUnread(t *testing.T) {
	from, full := accepted(t)
	_, empty := accepted(t)
	if _, err := from.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	for n := 0; n == 0; {
		var err error
		if n, err = unix.IoctlGetInt(full, unix.SIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
	w := newUnreadWatch([]int{full, empty})
	for range fewestUnread - 1 {
		w.rounds.Round()
	}
	if ms := w.metrics(); ms != nil {
		t.Errorf("%d looks: %+v", fewestUnread-1, ms)
	}
	w.rounds.Round()
	ms := w.metrics()
	if len(ms) != 2 || ms[0].Value != 1 || ms[1].Value != 0 ||
		ms[1].Name != measure.FlowMetric(1, measure.MetricThenUnread) {
		t.Errorf("%+v", ms)
	}
	if ms = newUnreadWatch(nil).metrics(); ms != nil {
		t.Errorf("of no flow: %+v", ms)
	}
}
