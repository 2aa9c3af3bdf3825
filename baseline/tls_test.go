// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

const (
	tlsMessage = 256 << 10
	tlsBytes   = 4 * records.MaxPlain
)

// decrypted receives what wire sends after the keys of h are there, and returns what the receiver
// counted and said.
func decrypted(t *testing.T, rx stream.Mode, how records.How, h func(*stream.Hello),
	wire func(tx *stream.Conn, h stream.Hello, p *stream.Payload)) (stream.Counters, error) {
	t.Helper()
	p := streamtest.Payload(t, tlsMessage)
	c, tx, hello := streamtest.Flow(t, p, sock.Options{})
	hello.Records = records.TLS13
	mine := hello
	h(&mine)
	o := stream.Options{MessageBytes: tlsMessage, Touch: stream.TouchVerify, TLS: how}
	var m stream.Meter
	done := make(chan error, 1)
	ready := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		r, err := rx.NewReceiver(o)
		if err == nil {
			defer r.Close()
			err = errors.Join(c.Encrypt(false, o, mine, false), r.Attach(c, mine))
		}
		if ready <- err; err == nil {
			done <- r.Receive(c, &m)
		}
	}()
	if err := await.Chan(t, "the receiver", ready); err != nil {
		t.Fatal(err)
	}
	wire(tx, hello, p)
	tx.EndOfSend()
	err := await.Chan(t, "the end of the flow", done)
	return m.Snapshot(), err
}

// byHand seals some records of a payload as h says, flips a bit of one, and sends them.
func byHand(t *testing.T, flip int) func(tx *stream.Conn, h stream.Hello, p *stream.Payload) {
	return func(tx *stream.Conn, h stream.Hello, p *stream.Payload) {
		k, err := records.Derive(h.Cookie[:], records.Payload, h.Flow, false)
		if err != nil {
			t.Fatal(err)
		}
		s, err := records.NewSealer(k)
		if err != nil {
			t.Fatal(err)
		}
		var wire []byte
		for at := 0; at < tlsBytes; at += records.MaxPlain {
			wire = s.Seal(wire, p.At(uint64(at), records.MaxPlain))
		}
		if flip > 0 {
			wire[flip*(records.MaxPlain+records.Overhead)+1000] ^= 4
		}
		for len(wire) > 0 {
			n, errno := sock.Send(tx.FD, wire, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
			switch errno {
			case 0, unix.EAGAIN:
				wire = wire[n:]
			default:
				return // the receiver has ended it
			}
		}
	}
}

// tlsModes are the receive modes with who decrypts, where the kernel can.
func tlsModes(t *testing.T, f func(t *testing.T, rx stream.Mode, how records.How)) {
	for _, rx := range []stream.Mode{TCP, Uring} {
		for _, how := range []records.How{records.User, records.Kernel} {
			t.Run(rx.Name+"/"+string(how), func(t *testing.T) {
				if err := rx.Support(""); err != nil {
					t.Skip(err)
				}
				if how.InKernel() && !records.Loaded() {
					t.Skip("the kernel has no kTLS, or has not loaded it (modprobe tls)")
				}
				f(t, rx, how)
			})
		}
	}
}

// What one way to encrypt has made, each other opens: they are the same records, with the same
// keys.
func TestTLSOfOthers(t *testing.T) {
	tlsModes(t, func(t *testing.T, rx stream.Mode, how records.How) {
		c, err := decrypted(t, rx, how, func(*stream.Hello) {}, byHand(t, 0))
		if err != nil || c.Bytes != tlsBytes || c.Mismatches != 0 {
			t.Errorf("made by hand: %+v, %v", c, err)
		}
		if !records.Loaded() {
			return
		}
		c, err = decrypted(t, rx, how, func(*stream.Hello) {}, func(tx *stream.Conn, h stream.Hello,
			p *stream.Payload) {
			err := tx.Encrypt(true, stream.Options{TLS: records.Kernel}, h, false)
			if err == nil {
				err = sock.BlockingSend(tx.FD, 0)
			}
			if n, errno := sock.Send(tx.FD, p.At(0, tlsBytes), 0); err != nil || errno != 0 || n != tlsBytes {
				t.Errorf("%v; sent %d: %v", err, n, errno)
			}
		})
		if err != nil || c.Bytes != tlsBytes || c.Mismatches != 0 {
			t.Errorf("made by the kernel: %+v, %v", c, err)
		}
	})
}

// Another key shows at the first record, and a bit that was flipped on the way at its own: by
// EBADMSG, with the table's fix, and with what was right before counted.
func TestTLSIsDamaged(t *testing.T) {
	tlsModes(t, func(t *testing.T, rx stream.Mode, how records.How) {
		for name, x := range map[string]struct {
			change func(*stream.Hello)
			flip   int
			most   uint64
		}{
			"another flow's key": {func(h *stream.Hello) { h.Flow++ }, 0, 0},
			"another cookie":     {func(h *stream.Hello) { h.Cookie[3] ^= 1 }, 0, 0},
			"a flipped bit":      {func(*stream.Hello) {}, 2, 2 * records.MaxPlain},
		} {
			c, err := decrypted(t, rx, how, x.change, byHand(t, x.flip))
			if !stream.Damaged(err) || fault.Fix(err) == "" || fault.BlamesPeer(err) || c.Bytes > x.most ||
				how == records.User && c.Bytes != x.most {
				t.Errorf("%s: %d bytes, of at most %d: %v (%s)", name, c.Bytes, x.most, err, fault.Fix(err))
			}
		}
	})
}

// What the kernel has taken of payload arrives whole. The receiver takes nothing until the sender
// has stopped: then the kernel has the first part of a record in the socket, and the rest of it
// aside. And meanwhile the sender gets signals, as from the Go runtime.
func TestTLSEndsWhole(t *testing.T) {
	tlsModes(t, func(t *testing.T, rx stream.Mode, how records.How) {
		for _, tx := range []stream.Mode{TCPSend, UringSend, Sendfile} {
			if how == records.User && !tx.Has(stream.Encrypts) {
				continue
			}
			for _, room := range []int{33 << 10, 40 << 10, 52 << 10, 64 << 10} { // so that it ends at any place
				t.Run(fmt.Sprint(tx.Name, "/", room), func(t *testing.T) { endsWhole(t, rx, tx, how, room) })
			}
		}
	})
}

func endsWhole(t *testing.T, rx, tx stream.Mode, how records.How, room int) {
	needs(t, tx)
	p := streamtest.Payload(t, tlsMessage)
	c, peer, h := streamtest.Flow(t, p, sock.Options{RcvBuf: 64 << 10, SndBuf: room})
	h.Records = records.TLS13
	o := stream.Options{MessageBytes: tlsMessage, Touch: stream.TouchVerify, TLS: how}
	if err := errors.Join(c.Encrypt(false, o, h, false), peer.Encrypt(true, o, h, false)); err != nil {
		t.Fatal(err)
	}
	var sent, got stream.Meter
	thread, sender := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		s, err := tx.NewSender(o)
		if err == nil {
			defer s.Close()
			err = errors.Join(s.Send(peer, p, &sent), peer.EndOfSend())
		}
		if err == nil {
			_, err = peer.ReadFarewell(await.Deadline())
		}
		sender <- err
	}()
	tid := <-thread
	for last, queued := -1, 0; queued == 0 || queued != last; {
		await.Pause("the socket is full by then, or the test is easier", 30*time.Millisecond)
		var err error
		last = queued
		if queued, err = unix.IoctlGetInt(peer.FD, unix.SIOCOUTQ); err != nil {
			t.Fatal(err)
		}
		if err := unix.Tgkill(unix.Getpid(), tid, unix.SIGURG); err != nil {
			t.Fatal(err)
		}
	}
	peer.Stop()
	await.Pause("it ends the flow meanwhile, or the test is easier", 150*time.Millisecond)
	received := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		r, err := rx.NewReceiver(o)
		if err == nil {
			defer r.Close()
			err = r.Attach(c, h)
		}
		if err == nil {
			err = r.Receive(c, &got)
		}
		received <- errors.Join(err, c.SendFarewell(stream.Farewell{Bytes: got.Snapshot().Bytes}))
	}()
	rerr, serr := await.Chan(t, "the receiver", received), await.Chan(t, "the sender", sender)
	n, m := sent.Snapshot(), got.Snapshot()
	if rerr != nil || serr != nil || n.Bytes == 0 || m.Bytes != n.Bytes || m.Mismatches != 0 {
		t.Errorf("sent %d bytes, got %d, %d wrong; receiver: %v; sender: %v", n.Bytes, m.Bytes, m.Mismatches, rerr,
			serr)
	}
}
