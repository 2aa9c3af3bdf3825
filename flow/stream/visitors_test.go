// SPDX-License-Identifier: MIT

package stream

import (
	"net"
	"net/netip"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// Of more connections than there is room for the oldest that said nothing makes way.
func TestVisitorsMakeRoom(t *testing.T) {
	rx := &Conn{FD: -1, Local: netip.MustParseAddrPort("127.0.0.1:0")}
	h := Hello{Cookie: NewCookie(), MessageBytes: 1, PeriodBytes: 8, ResponseBytes: 1, Connects: true}
	v, err := NewVisitors(rx, h, NewToucher(TouchVerify, int(h.PeriodBytes)), sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	read := func(x *Visitor, flags int, m *Meter) (n int, own bool, errno unix.Errno, err error) {
		var b [64]byte
		if n, errno = sock.Recv(x.FD, b[:], flags); errno == 0 && n > 0 {
			_, own = v.Take(x, b[:n], m)
		}
		return n, own, errno, nil
	}
	v.room = 3
	m := new(Meter)
	pass := make([]byte, PassBytes)
	PutPass(pass, h.Cookie, 0)
	for i := range 5 {
		c, err := net.Dial("tcp", rx.Visits.At.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i == 0 { // one of the flow's, whose request is late
			if _, err := c.Write(pass); err != nil {
				t.Fatal(err)
			}
		}
		await.Until(t, "the connection", func() bool {
			if err := v.accept(rx, read, m); err != nil {
				t.Fatal(err)
			}
			for k := range v.all {
				if i == 0 && v.all[k].Nth == 1 {
					if err := v.goOn(k, rx, read, m); err != nil {
						t.Fatal(err)
					}
					return v.all[k].Came() == PassBytes
				}
			}
			return v.came == uint64(i+1)
		})
	}
	if n := rx.Visits.Strangers.Load(); n != 2 || v.all[0].Nth != 1 {
		t.Errorf("%d made way, and the flow's own is %+v", n, v.all[0])
	}
}

// A stranger that says nothing is not waited for, nor is anybody beside it. Once it is gone the one
// connection that the sender has is again.
func TestVisitorsAloneAgain(t *testing.T) {
	rx := &Conn{FD: -1, Local: netip.MustParseAddrPort("127.0.0.1:0")}
	h := Hello{Cookie: NewCookie(), MessageBytes: 1, PeriodBytes: 8, ResponseBytes: 1, Connects: true, OneAtATime: true}
	v, err := NewVisitors(rx, h, NewToucher(TouchNone, int(h.PeriodBytes)), sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	m := new(Meter)
	nothing := func(*Visitor, int, *Meter) (int, bool, unix.Errno, error) { return 0, false, unix.EAGAIN, nil }
	all := func(x *Visitor, flags int, m *Meter) (int, bool, unix.Errno, error) {
		x.at, x.head = v.Whole(), append(x.head[:0], 0)
		return x.at, true, 0, nil
	}
	comes := func(read VisitRead) {
		came := v.came
		c, err := net.Dial("tcp", rx.Visits.At.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		await.Until(t, "the connection", func() bool {
			if err := v.accept(rx, read, m); err != nil {
				t.Fatal(err)
			}
			return v.came > came
		})
	}
	comes(nothing)
	if comes(all); v.alone {
		t.Error("it waits while a stranger is there")
	}
	if v.Stranger(0, rx); !v.alone {
		t.Error("the stranger is gone, and it still does not wait")
	}
	v.Keep()
	if comes(all); !v.alone || m.Snapshot().Transactions != 2 {
		t.Errorf("after %d requests it waits: %v", m.Snapshot().Transactions, v.alone)
	}
}

// However many strangers come and go, the sender's end of the flow is heard among them.
func TestVisitorsHearTheEnd(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	rx := &Conn{FD: pair[0], Local: netip.MustParseAddrPort("127.0.0.1:0")}
	h := Hello{Cookie: NewCookie(), MessageBytes: 1, PeriodBytes: 8, ResponseBytes: 1, Connects: true, OneAtATime: true}
	v, err := NewVisitors(rx, h, NewToucher(TouchNone, int(h.PeriodBytes)), sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	const strangers = 64
	for range strangers {
		c, err := net.Dial("tcp", rx.Visits.At.String())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	unix.Close(pair[1]) // the end
	served := make(chan error, 1)
	go func() {
		served <- v.Serve(rx, func(x *Visitor, flags int, _ *Meter) (int, bool, unix.Errno, error) {
			n, errno := sock.Recv(x.FD, make([]byte, 1), flags)
			return n, n > 0, errno, nil
		}, new(Meter))
	}()
	if err := await.Chan(t, "the end", served); err != nil {
		t.Error(err)
	}
	if n := rx.Visits.Strangers.Load(); n == strangers {
		t.Errorf("all %d strangers were taken before the end was heard", n)
	}
}
