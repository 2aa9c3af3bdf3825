// SPDX-License-Identifier: MIT

package bpf_test

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/firsttest"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// connect is a flow from the TG to the SUT.
func connect(t testing.TB, p *veth.Pair) (rx, tx *net.TCPConn) {
	t.Helper()
	ln := in(t, p.SUT.Netns, func() (net.Listener, error) { return net.Listen("tcp", addr(p.SUT.IPv4, testPort)) })
	defer ln.Close()
	sender := in(t, p.TG.Netns, func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) })
	receiver, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sender.Close(); receiver.Close() })
	for _, c := range []net.Conn{sender, receiver} {
		c.SetDeadline(await.Deadline())
	}
	return receiver.(*net.TCPConn), sender.(*net.TCPConn)
}

// plain makes a delay one that stands out: the lab is emulated, and everything
// takes longer there.
func plain(d time.Duration) time.Duration {
	if inLab() {
		return 6 * d
	}
	return d
}

// A process that holds the socket's lock keeps packets in its backlog: they are
// late from tcp-do-rcv on, and neither before nor between the stages after it.
func TestIntegrationLatencyOfHeldSocket(t *testing.T) {
	kind.Timed(t)
	p := newPair(t)
	rx, tx := connect(t, p)
	l := openLatency(t, p.SUT.Netns, bpf.Filter{LocalPort: testPort})
	before := read(t, l)
	n := packets(12, 6)
	delay := plain(25 * time.Millisecond)
	for range n {
		page, err := newSlowPage(delay)
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() { sent <- sendFrom(rx, page.mem[:100]) }() // holds the lock until the page is there
		select {
		case <-page.touched:
		case err := <-sent:
			t.Fatalf("sent without a wait for the page: %v", err)
		}
		if _, err := tx.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		page.close()
		b := make([]byte, 100)
		if _, err := io.ReadFull(rx, b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(tx, b); err != nil {
			t.Fatal(err)
		}
	}
	after := read(t, l)
	late := map[string]bool{"tcp-do-rcv": true, "tcp-enqueued": true, "tcp-read": true, "tcp-return": true}
	var entered float64
	for _, stage := range bpf.Stages() {
		now, was := after[stage], before[stage]
		h := now.Sub(&was)
		if !sinceStamp(stage) || h.Count() < uint64(n) {
			continue
		}
		// Bare acknowledgements pass the first stages too, and not late: of the
		// slowest n packets.
		typical := time.Duration(h.Quantile(1 - float64(n)/2/float64(h.Count())))
		if !late[stage] {
			if typical > delay/4 {
				t.Errorf("%s: %v, though the lock was taken after it", stage, typical)
			}
			continue
		}
		if typical < delay/2 || typical > 3*delay {
			t.Errorf("%s: %v, want about %v", stage, typical, delay)
		}
		if stage == "tcp-do-rcv" {
			entered = float64(typical)
		} else if d := time.Duration(float64(typical) - entered); entered > 0 && d > delay/4 {
			t.Errorf("%s comes %v after tcp-do-rcv: the delay of the lock is not its own", stage, d)
		}
	}
	if entered == 0 {
		t.Error("tcp-do-rcv saw nothing")
	}
}

// sendFrom sends from memory that Go does not know of, in one system call.
func sendFrom(c *net.TCPConn, b []byte) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = raw.Write(func(fd uintptr) bool {
		_, serr = unix.Write(int(fd), b)
		return serr != unix.EAGAIN
	})
	if err == nil {
		err = serr
	}
	return err
}

// The way to the queue and the wake-up add up to what the application itself sees:
// the time that it has the data less the packet's stamp.
func TestIntegrationStagesAddUp(t *testing.T) {
	kind.Timed(t)
	p := newPair(t)
	rx, tx := connect(t, p)
	l := openLatency(t, p.SUT.Netns, bpf.Filter{LocalPort: testPort})
	raw, err := rx.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
			unix.SOF_TIMESTAMPING_RX_SOFTWARE|unix.SOF_TIMESTAMPING_SOFTWARE)
	}); err != nil {
		t.Fatal(err)
	}
	firsttest.Thread(t)
	n := packets(40, 20)
	sleep := plain(8 * time.Millisecond)
	before := read(t, l)
	var seen []float64
	for range n {
		if _, err := tx.Write(make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(sleep)
		seen = append(seen, ageOfNext(t, raw))
	}
	after := read(t, l)
	stage := func(name string) bpf.Hist {
		now, was := after[name], before[name]
		h := now.Sub(&was)
		if math.Abs(float64(h.Count())-float64(n)) > 1 {
			t.Errorf("%s saw %d packets of %d", name, h.Count(), n)
		}
		return h
	}
	enqueued, wake, readStage := stage("tcp-enqueued"), stage("wake-return"), stage("tcp-read")
	// Means add up, also where other work makes every packet another.
	whole := 0.0
	for _, s := range seen {
		whole += s / float64(len(seen))
	}
	sum := enqueued.Mean() + wake.Mean()
	t.Logf("enqueued %.0f + wake-up %.0f = %.0f ns, read %.0f ns, the application saw %.0f ns", enqueued.Mean(),
		wake.Mean(), sum, readStage.Mean(), whole)
	for what, v := range map[string]float64{"enqueued + wake-up": sum, "read": readStage.Mean()} {
		if math.Abs(v-whole) > whole/16+50e3 { // a bucket, and the way back out of the call
			t.Errorf("%s: %.0f ns; the application saw %.0f ns", what, v, whole)
		}
	}
	// The stamp is of when the packet came, which a busy machine lets it do after the write, and in
	// the sleep.
	if whole < float64(sleep)*15/16 {
		t.Errorf("the application slept %v and saw %.0f ns", sleep, whole)
	}
}

// ageOfNext receives a message and returns how old its stamp is, ns.
func ageOfNext(t *testing.T, raw syscall.RawConn) float64 {
	t.Helper()
	b, oob := make([]byte, 64), make([]byte, 256)
	var now unix.Timespec
	var oobn int
	var rerr error
	err := raw.Read(func(fd uintptr) bool {
		_, oobn, _, _, rerr = unix.Recvmsg(int(fd), b, oob, 0)
		unix.ClockGettime(unix.CLOCK_REALTIME, &now)
		return rerr != unix.EAGAIN
	})
	if err != nil || rerr != nil {
		t.Fatal(err, rerr)
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range msgs {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPING && len(m.Data) >= 16 {
			s, ns := binary.NativeEndian.Uint64(m.Data), binary.NativeEndian.Uint64(m.Data[8:])
			return float64(now.Nano() - int64(s*1e9+ns))
		}
	}
	t.Fatal("the message came without a stamp")
	return 0
}

// sinceStamp tells whether a stage counts from the receive stamp t0. The others
// count from an event of their own: softirq-run from the raise of the softirq
// that then runs, wake-return from the data becoming ready on an idle socket to
// the return of the call that reads it.
func sinceStamp(stage string) bool { return stage != "softirq-run" && stage != "wake-return" }
