// SPDX-License-Identifier: MIT

package datagram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/ledger"
	"golang.org/x/sys/unix"
)

// opened are the flows of a data port, past their handshake; all is closed with the test.
type opened struct {
	rx, tx []*stream.Conn
	hello  []stream.Hello
	port   stream.Listener
}

func open(t testing.TB, addr string, flows, size int, o sock.Options) (out opened) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cookie := stream.NewCookie()
	port, err := transport{}.Listen(addr, cookie, flows, o)
	if err != nil {
		t.Fatal(err)
	}
	out = opened{port: port, tx: make([]*stream.Conn, flows)}
	dialed := make(chan error, flows)
	for n := range flows {
		go func() {
			var err error
			out.tx[n], _, err = transport{}.Dial(ctx, port.Addr().String(), hello(cookie, n, flows, size), o)
			dialed <- err
		}()
	}
	for range flows {
		c, h, err := port.Accept(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		out.rx, out.hello = append(out.rx, c), append(out.hello, h)
	}
	for _, c := range out.rx {
		if err := c.Welcome(stream.Welcome{}); err != nil {
			t.Fatal(err)
		}
	}
	for range flows {
		if err := <-dialed; err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, c := range out.tx {
			c.Close()
		}
		port.Close()
	})
	return out
}

func hello(c stream.Cookie, n, flows, size int) stream.Hello {
	return stream.Hello{Cookie: c, TXMode: "test", MessageBytes: uint64(size), PeriodBytes: 31 * 4096, Flow: n, Flows: flows}
}

func onThread(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return done
}

func ended(t testing.TB, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the path did not return")
		return nil
	}
}

// withEngines are a mode that this kernel has, with every io_uring engine.
func withEngines(modes ...stream.Mode) (all []stream.Mode, options []stream.Options) {
	for _, m := range modes {
		if m.Support("") != nil {
			continue
		}
		engines := []string{""}
		if m.Ring {
			engines = nil
			for _, e := range uring.Engines() {
				engines = append(engines, string(e))
			}
		}
		batches := []int{0}
		if m.Batches && !m.Segments {
			batches = []int{0, 1}
		}
		for _, e := range engines {
			for _, b := range batches {
				q := m
				q.Name = fmt.Sprintf("%s@%s batch %d", m.Name, e, b)
				all, options = append(all, q), append(options, stream.Options{UringEngine: e, Batch: b})
			}
		}
	}
	return all, options
}

var (
	rxModes = []stream.Mode{RX, GRO, Uring}
	txModes = []stream.Mode{TX, GSO, UringSend}
)

// play moves the datagrams of one flow for a while, paced so that none is lost.
func play(t *testing.T, addr string, rx, tx stream.Mode, rxo, txo stream.Options, size int, pps uint64, length time.Duration) (got, sent stream.Counters, told, dropped uint64) {
	t.Helper()
	rxo.MessageBytes, txo.MessageBytes, rxo.Touch = size, size, stream.TouchVerify
	o := open(t, addr, 1, size, sock.Options{RcvBuf: 16 << 20})
	p, err := stream.NewPayload(size)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before, err := ledger.Read()
	if err != nil {
		t.Fatal(err)
	}
	var mr, ms stream.Meter
	received := onThread(func() error {
		r, err := rx.NewReceiver(rxo)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := r.Attach(o.rx[0], o.hello[0]); err != nil {
			return err
		}
		err = r.Receive(o.rx[0], &mr)
		return errors.Join(err, r.Close())
	})
	time.AfterFunc(length, func() {
		until(t, func() bool { return ms.Snapshot().Packets >= 100 || size > 20_000 && ms.Snapshot().Packets >= 10 })
		o.tx[0].Stop()
	})
	sending := onThread(func() error {
		s, err := tx.NewSender(txo)
		if err != nil {
			return err
		}
		defer s.Close()
		c := o.tx[0]
		c.Pace = stream.NewPace(pps * uint64(size) * 8)
		c.Pace.InSmallPieces(size)
		if err := s.Send(c, p, &ms); err != nil {
			return err
		}
		return errors.Join(c.EndOfSend(), s.Close())
	})
	if err := ended(t, sending); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, received); err != nil {
		t.Fatal(err)
	}
	after, err := ledger.Read()
	if err != nil {
		t.Fatal(err)
	}
	// What its own socket dropped is exact, and none of others'; of GRO and GSO one is several.
	inSocket, inLink := uint64(1), uint64(1)
	if strings.HasPrefix(rx.Name, GRO.Name) {
		inSocket, inLink = mostInOne(size), mostInOne(size)
	}
	if tx.Segments {
		inLink = mostInOne(size)
	}
	dropped = socketDrops(t, o.rx[0].Local.Port()) * inSocket
	for _, c := range ledger.Between(before, after) {
		if ledger.OfPackets(c.Name) && (!strings.HasPrefix(c.Name, "udp_") || c.Name == "udp_sndbuf_errors") {
			dropped += c.Count * inLink
		}
	}
	return mr.Snapshot(), ms.Snapshot(), o.rx[0].Sent, dropped
}

// socketDrops is how many packets the sockets of UDP dropped that have a port.
func socketDrops(t testing.TB, port uint16) (n uint64) {
	t.Helper()
	found := false
	for _, name := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if f := strings.Fields(line); len(f) > 2 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				drops, err := strconv.ParseUint(f[len(f)-1], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				n, found = n+drops, true
			}
		}
	}
	if !found {
		t.Errorf("no socket of UDP has port %d", port)
	}
	return n
}

// A receiver whose buffers are of another size than the sender's datagrams says so, with both.
func TestOtherSizeIsRefused(t *testing.T) {
	all, options := withEngines(rxModes...)
	for i, m := range all {
		o := open(t, "127.0.0.1:0", 1, 1400, sock.Options{})
		opt := options[i]
		opt.MessageBytes = 64
		err := ended(t, onThread(func() error {
			r, err := m.NewReceiver(opt)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.Attach(o.rx[0], o.hello[0])
		}))
		if err == nil || !strings.Contains(err.Error(), "datagrams of 1400 bytes, but 64 are expected") || !strings.Contains(fault.Fix(err), "--message-size") {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// A socket buffer that is full time and again costs no datagram, and none its place: what the
// kernel did not take is sent again, and before what follows.
func TestFullSocketKeepsOrder(t *testing.T) {
	tx, txo := withEngines(txModes...)
	for i, s := range tx {
		const size = 1400
		o := open(t, "127.0.0.1:0", 1, size, sock.Options{RcvBuf: 16 << 20, SndBuf: 8 << 10})
		txo[i].MessageBytes = size
		p, err := stream.NewPayload(size)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var m stream.Meter
		done := onThread(func() error {
			path, err := s.NewSender(txo[i])
			if err != nil {
				return err
			}
			defer path.Close()
			return path.Send(o.tx[0], p, &m)
		})
		a, got := newAccount(size), new(stream.Meter)
		a.key = o.rx[0].Key
		b := make([]byte, 2*size)
		var w sock.Waiter
		for n := 0; n < 3000; {
			w.Wait(o.rx[0].FD, unix.POLLIN, 100)
			for {
				l, errno := sock.Recv(o.rx[0].FD, b, unix.MSG_DONTWAIT)
				if errno != 0 {
					break
				}
				if n++; !a.take(b[:l], got) {
					t.Fatalf("%s: datagram %d is wrong", s.Name, n)
				}
			}
		}
		o.tx[0].Abort()
		if err := ended(t, done); !errors.Is(err, stream.ErrAborted) {
			t.Errorf("%s: %v", s.Name, err)
		}
		if c := got.Snapshot(); c.OutOfOrder+c.Duplicated+c.Corrupted != 0 {
			t.Errorf("%s: %+v", s.Name, c)
		}
	}
}

// Each mode to receive takes what each mode to send sends, by every engine, one by one and in
// batches: every datagram once, in order, right to its last byte, but for what the kernel says that
// it dropped.
func TestEveryPairOfModes(t *testing.T) {
	rx, rxo := withEngines(rxModes...)
	tx, txo := withEngines(txModes...)
	if len(rx) < 3 || len(tx) < 3 {
		t.Skipf("this kernel has %d modes to receive and %d to send", len(rx), len(tx))
	}
	sizes := []int{MinBytes, 64, 1400}
	for i, r := range rx {
		for k, s := range tx {
			addr := []string{"127.0.0.1:0", "[::1]:0"}[(i+k)%2]
			size := sizes[(i+2*k)%len(sizes)]
			t.Run(fmt.Sprintf("%s from %s of %d", r.Name, s.Name, size), func(t *testing.T) {
				got, sent, told, dropped := play(t, addr, r, s, rxo[i], txo[k], size, 100_000, 50*time.Millisecond)
				if sent.Packets < 100 || got.Packets > sent.Packets || got.Packets+dropped < sent.Packets || told != sent.Packets || got.Bytes != got.Packets*uint64(size) || sent.Bytes != sent.Packets*uint64(size) {
					t.Errorf("received %+v, sent %+v, told of %d", got, sent, told)
				}
				if got.OutOfOrder+got.Duplicated+got.Corrupted+got.Mismatches != 0 {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

// Datagrams as long as there can be come in fragments, and whole.
func TestLongestDatagrams(t *testing.T) {
	for _, r := range rxModes {
		if r.Support("") != nil {
			continue
		}
		got, sent, _, dropped := play(t, "127.0.0.1:0", r, TX, stream.Options{}, stream.Options{}, MaxBytes, 2000, 50*time.Millisecond)
		if sent.Packets < 10 || got.Packets > sent.Packets || got.Packets+dropped < sent.Packets || got.Corrupted != 0 {
			t.Errorf("%s: received %+v, sent %+v", r.Name, got, sent)
		}
	}
}

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
			t.Errorf("flow %d: from %v to %v, at its sender from %v to %v", n, c.Remote, c.Local, o.tx[n].Local, o.tx[n].Remote)
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

// A path ends when the run is called off, and when its sender breaks off.
func TestPathsEnd(t *testing.T) {
	rx, rxo := withEngines(rxModes...)
	for i, m := range rx {
		for _, broken := range []bool{false, true} {
			o := open(t, "127.0.0.1:0", 1, 64, sock.Options{})
			opt := rxo[i]
			opt.MessageBytes = 64
			done := onThread(func() error {
				r, err := m.NewReceiver(opt)
				if err != nil {
					return err
				}
				defer r.Close()
				if err := r.Attach(o.rx[0], o.hello[0]); err != nil {
					return err
				}
				return r.Receive(o.rx[0], new(stream.Meter))
			})
			time.Sleep(10 * time.Millisecond)
			if broken {
				o.tx[0].Close()
			} else {
				o.rx[0].Abort()
			}
			if err := ended(t, done); !stream.BlamesPeer(err) || broken == errors.Is(err, stream.ErrAborted) {
				t.Errorf("%s, broken off %v: %v", m.Name, broken, err)
			}
		}
	}
	tx, txo := withEngines(txModes...)
	for i, m := range tx {
		o := open(t, "127.0.0.1:0", 1, 64, sock.Options{})
		opt := txo[i]
		opt.MessageBytes = 64
		p, err := stream.NewPayload(64)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		done := onThread(func() error {
			s, err := m.NewSender(opt)
			if err != nil {
				return err
			}
			defer s.Close()
			return s.Send(o.tx[0], p, new(stream.Meter))
		})
		time.Sleep(10 * time.Millisecond)
		o.tx[0].Abort()
		if err := ended(t, done); !errors.Is(err, stream.ErrAborted) {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// Calls do not allocate.
func TestPathsDoNotAllocate(t *testing.T) {
	rx, rxo := withEngines(rxModes...)
	tx, txo := withEngines(txModes...)
	for i := range max(len(rx), len(tx)) {
		r, s := i%len(rx), i%len(tx)
		t.Run(rx[r].Name+" from "+tx[s].Name, func(t *testing.T) {
			o := open(t, "127.0.0.1:0", 1, 64, sock.Options{})
			ro, so := rxo[r], txo[s]
			ro.MessageBytes, so.MessageBytes = 64, 64
			p, err := stream.NewPayload(64)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var mr, ms stream.Meter
			received := onThread(func() error {
				path, err := rx[r].NewReceiver(ro)
				if err != nil {
					return err
				}
				defer path.Close()
				if err := path.Attach(o.rx[0], o.hello[0]); err != nil {
					return err
				}
				return path.Receive(o.rx[0], &mr)
			})
			sending := onThread(func() error {
				path, err := tx[s].NewSender(so)
				if err != nil {
					return err
				}
				defer path.Close()
				return path.Send(o.tx[0], p, &ms)
			})
			calls := func() uint64 { return min(mr.Snapshot().Calls, ms.Snapshot().Calls) }
			until(t, func() bool { return calls() > 50 })
			runtime.GC()
			c0, n0 := calls(), mallocs()
			until(t, func() bool { return calls() > c0+1000 })
			n, c := mallocs()-n0, calls()-c0
			if n > c/20 { // the runtime itself allocates now and then
				t.Errorf("%d allocations in %d calls", n, c)
			}
			o.tx[0].Stop()
			if err := ended(t, sending); err != nil {
				t.Error(err)
			}
			o.tx[0].EndOfSend()
			if err := ended(t, received); err != nil {
				t.Error(err)
			}
			if got := mr.Snapshot(); got.Corrupted != 0 || got.Packets > ms.Snapshot().Packets {
				t.Errorf("received %+v of %+v", got, ms.Snapshot())
			}
		})
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func until(t testing.TB, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("waited in vain")
		}
	}
}

// A data port whose number UDP has not free is said so, and of any number another one is taken.
func TestTakenPort(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := (transport{}).Listen(taken.LocalAddr().String(), stream.NewCookie(), 1, sock.Options{}); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("%v", err)
	}
	var all []uint16
	for range 20 {
		l, err := transport{}.Listen("127.0.0.1:0", stream.NewCookie(), 1, sock.Options{})
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
