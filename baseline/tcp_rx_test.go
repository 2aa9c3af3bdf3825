// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"golang.org/x/sys/unix"
)

func TestReadBytes(t *testing.T) {
	for _, c := range []struct{ message, read, want int }{
		{64 << 20, 0, defaultReadBytes}, {100, 0, 100}, {100, 50, 50}, {100, 200, 100}, {64 << 20, 1 << 20, 1 << 20},
	} {
		if got := readBytes(stream.Options{MessageBytes: c.message, ReadBytes: c.read}); got != c.want {
			t.Errorf("message %d, read %d: %d, not %d", c.message, c.read, got, c.want)
		}
	}
}

// The receiver's buffer is of the size that was asked for, whatever the sender's messages are,
// and all payload goes through it.
func TestReceiveBuffer(t *testing.T) {
	const message, buffer = 100_000, 16 << 10
	for _, c := range []struct{ message, buffer, want int }{{message, buffer, buffer}, {1000, 1 << 20, 1 << 20},
		{message, 0, message}} {
		r, err := NewTCPReceiver(stream.Options{MessageBytes: c.message, BufferBytes: c.buffer})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(r.buf.Bytes()); got != c.want {
			t.Errorf("messages of %d, a buffer of %d: it has %d", c.message, c.buffer, got)
		}
		r.Close()
	}
	p, m := streamtest.Payload(t, message), new(stream.Meter)
	rx, tx, h := streamtest.Flow(t, p, sock.Options{})
	if n, errno := sock.Send(tx.FD, p.Message(0), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); n != message || errno != 0 {
		t.Fatalf("sent %d: %v", n, errno)
	}
	tx.EndOfSend()
	r, err := NewTCPReceiver(stream.Options{MessageBytes: message, BufferBytes: buffer, Touch: stream.TouchVerify})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := errors.Join(r.Attach(rx, h), r.Receive(rx, m)); err != nil {
		t.Fatal(err)
	}
	// Six buffers full, what is left, and the end.
	if c := m.Snapshot(); c.Bytes != message || c.Mismatches != 0 || c.Calls != 6+1+1 {
		t.Errorf("%+v", c)
	}
}

// Messages are assembled in one buffer, whatever pieces they come in: the end of
// one never runs into the next.
func TestMessagesAreAssembled(t *testing.T) {
	const message = 10_000
	p, m := streamtest.Payload(t, message), new(stream.Meter)
	rx, tx, h := streamtest.Flow(t, p, sock.Options{})
	for k := range uint64(5) {
		if n, errno := sock.Send(tx.FD, p.Message(k), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); n != message || errno != 0 {
			t.Fatalf("sent %d: %v", n, errno)
		}
	}
	tx.EndOfSend()
	r, err := NewTCPReceiver(stream.Options{MessageBytes: message, ReadBytes: 3000, Touch: stream.TouchVerify})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Attach(rx, h); err != nil {
		t.Fatal(err)
	}
	if err := r.Receive(rx, m); err != nil {
		t.Fatal(err)
	}
	// 3000, 3000, 3000 and 1000 bytes each, then the end.
	if c := m.Snapshot(); c.Bytes != 5*message || c.Mismatches != 0 || c.Calls != 5*4+1 || c.Waits != c.Calls {
		t.Errorf("%+v", c)
	}
	if got, want := r.buf.Bytes()[message-1], p.Message(4)[message-1]; got != want {
		t.Error("the last message does not fill the buffer")
	}
}
