// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// Several flows share the data port's number, and each gets its own datagrams.
func TestFlowsOfOnePort(t *testing.T) {
	const flows, size = 5, 64
	o := open(t, "127.0.0.1:0", flows, size, sock.Options{})
	for i, c := range o.tx {
		for seq := range uint64(10) {
			b := make([]byte, size)
			put(b, c.Key, seq)
			if n, errno := sock.Send(c.FD, b, 0); n != size || errno != 0 {
				t.Fatalf("flow %d: %d, %v", i, n, errno)
			}
		}
	}
	for i, c := range o.rx {
		n := o.hello[i].Flow
		if c.Key != o.tx[n].Key || c.Remote != o.tx[n].Local || c.Local != o.tx[n].Remote {
			t.Errorf("flow %d: from %v to %v, at its sender from %v to %v", n, c.Remote, c.Local, o.tx[n].Local,
				o.tx[n].Remote)
		}
		a, m := newAccount(size), new(stream.Meter)
		a.key = c.Key
		for range 10 {
			b := make([]byte, 2*size)
			got, errno := sock.Recv(c.FD, b, unix.MSG_DONTWAIT)
			if errno != 0 || !a.take(b[:got], m) {
				t.Errorf("flow %d: %d bytes, %v, %+v", n, got, errno, m.Snapshot())
			}
		}
		if _, errno := sock.Recv(c.FD, make([]byte, 2*size), unix.MSG_DONTWAIT); errno != unix.EAGAIN {
			t.Errorf("flow %d has more: %v", n, errno)
		}
	}
}

// Strangers' datagrams never count: neither those that come before the socket is connected, nor
// those that come later.
func TestStrangersDatagrams(t *testing.T) {
	const size = 64
	o := open(t, "127.0.0.1:0", 1, size, sock.Options{})
	s, err := net.Dial("udp", o.rx[0].Local.String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := make([]byte, size)
	put(b, o.rx[0].Key, 0) // even one who knew the key
	for range 100 {
		s.Write(b) // refused by ICMP at last
	}
	if _, errno := sock.Recv(o.rx[0].FD, b, unix.MSG_DONTWAIT); errno != unix.EAGAIN {
		t.Errorf("a stranger's datagram came: %v", errno)
	}

	// Before: what waits in a socket when it is connected.
	at := o.port.Addr().(*net.TCPAddr).AddrPort()
	fd, err := bound(at, sock.Options{}, false)
	if err == nil { // the flow's has it
		unix.Close(fd)
		t.Fatal("two sockets have the data port's number")
	}
	if fd, err = bound(plainAddr(t, "127.0.0.1:0"), sock.Options{}, false); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	early, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", sa.(*unix.SockaddrInet4).Port))
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	for range 7 {
		early.Write(b)
	}
	if err := connect(fd, plainAddr(t, "127.0.0.1:9")); err != nil {
		t.Fatal(err)
	}
	if n := drain(fd); n != 7 {
		t.Errorf("%d datagrams of strangers, want 7", n)
	}
}

// A data port whose number UDP has not free is said so, and of any number another one is taken.
func TestTakenPort(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := (Transport{}).Listen(taken.LocalAddr().String(), stream.NewCookie(), 1,
		sock.Options{}); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("%v", err)
	}
	var all []uint16
	for range 20 {
		l, err := Transport{}.Listen("127.0.0.1:0", stream.NewCookie(), 1, sock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, uint16(l.Addr().(*net.TCPAddr).Port))
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 20 {
		t.Errorf("%v", all)
	}
}

func plainAddr(t testing.TB, s string) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddrPort(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
