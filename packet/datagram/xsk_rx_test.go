// SPDX-License-Identifier: MIT

package datagram

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/packet/xsk"
)

// framed is a receiver of frames of IPv4 or IPv6, without sockets of AF_XDP.
func framed(size int, v6 bool) *xskReceiver {
	r := &xskReceiver{account: *newAccount(size), headers: xdp.HeaderBytes, family: 0x0800, sockets: &xsk.Set{}}
	if v6 {
		r.headers, r.family = xdp.Header6Bytes, 0x86dd
	}
	return r
}

// frameOf is a frame with the headers' fields that the receiver reads, and padding as Ethernet has.
func (r *xskReceiver) frameOf(payload []byte) []byte {
	b := make([]byte, r.headers, max(r.headers+len(payload), xdp.MinFrameBytes))
	binary.BigEndian.PutUint16(b[12:], r.family)
	binary.BigEndian.PutUint16(b[r.headers-4:], uint16(udpBytes+len(payload)))
	b = append(b, payload...)
	return b[:cap(b)]
}

// A payload ends where UDP's header says so, also before padding; what has other headers, or says
// more than has come, is none.
func TestPayloadOfFrame(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		r := framed(18, v6)
		for _, n := range []int{0, 1, 17, 18, 19, 1400} {
			p, ok := r.payload(r.frameOf(bytes.Repeat([]byte{7}, n)))
			if !ok || !bytes.Equal(p, bytes.Repeat([]byte{7}, n)) || cap(p) != n {
				t.Errorf("IPv6 %v, %d bytes: %x, %v, room for %d", v6, n, p, ok, cap(p))
			}
		}
		whole := r.frameOf(make([]byte, 100))
		for name, b := range map[string][]byte{
			"nothing":          nil,
			"half a header":    whole[:13],
			"no payload":       whole[:r.headers-1],
			"cut short":        whole[:len(whole)-1],
			"a tag of a VLAN":  append(append(append([]byte(nil), whole[:12]...), 0x81, 0, 0, 5), whole[12:]...),
			"the other family": framed(18, !v6).frameOf(make([]byte, 100)),
			"UDP is too short": func() []byte {
				b := bytes.Clone(whole)
				b[r.headers-4], b[r.headers-3] = 0,
					7
				return b
			}(),
			"UDP is too long":   func() []byte { b := bytes.Clone(whole); b[r.headers-4] = 0xff; return b }(),
			"one byte too long": func() []byte { b := bytes.Clone(whole); b[r.headers-3]++; return b }(),
		} {
			if p, ok := r.payload(b); ok || p != nil {
				t.Errorf("IPv6 %v, %s: %x", v6, name, p)
			}
			m := new(stream.Meter)
			if r.frame(b, m) || m.Snapshot().Corrupted != 1 {
				t.Errorf("IPv6 %v, %s: %+v", v6, name, m.Snapshot())
			}
		}
	}
}

func FuzzPayloadOfFrame(f *testing.F) {
	for _, v6 := range []bool{false, true} {
		r := framed(18, v6)
		p := make([]byte, 18)
		put(p, testKey, 5)
		f.Add(v6, r.frameOf(p))
	}
	f.Fuzz(func(t *testing.T, v6 bool, b []byte) {
		r, m, was := framed(18, v6), new(stream.Meter), bytes.Clone(b)
		p, ok := r.payload(b)
		if ok && (len(p) != int(binary.BigEndian.Uint16(b[r.headers-4:]))-udpBytes || r.headers+len(p) > len(b) ||
			len(p) > 0 && &p[0] != &b[r.headers]) {
			t.Errorf("%d bytes of %x", len(p), b)
		}
		if right := r.frame(b, m); right != (m.Snapshot().Corrupted == 0) || right && len(p) != 18 {
			t.Errorf("%v, %+v, of %x", right, m.Snapshot(), b)
		}
		if !bytes.Equal(was, b) {
			t.Errorf("%x became %x", was, b)
		}
	})
}

// Frames are booked without allocations, with their bytes compared and answered, too.
func TestFramesDoNotAllocate(t *testing.T) {
	rx, tx, h, _ := asked(t, 40, 64)
	r, m, p := framed(40, false), new(stream.Meter), make([]byte, 40)
	if err := r.open(rx, h, stream.Options{MessageBytes: 40, Touch: stream.TouchVerify}); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	frame := r.frameOf(p)
	got := make([]byte, 65)
	seq := uint64(0)
	pattern, err := stream.NewPayload(40)
	if err != nil {
		t.Fatal(err)
	}
	defer pattern.Close()
	if n := testing.AllocsPerRun(1000, func() {
		payload := frame[r.headers:]
		copy(payload, pattern.Message(seq%r.slots))
		put(payload, rx.Key, seq)
		if seq++; r.frame(frame, m) {
			m.Packets(1)
		}
		if err := r.answer(m); err != nil {
			t.Fatal(err)
		}
		sock.Recv(tx.FD, got, unix.MSG_DONTWAIT)
	}); n != 0 {
		t.Errorf("%v allocations of a frame", n)
	}
	if c := m.Snapshot(); c.Packets != seq || c.Transactions != seq || c.Corrupted+c.Mismatches != 0 {
		t.Errorf("%d frames: %+v", seq, c)
	}
}

// asked are the ends of a flow over loopback whose requests and answers have so many bytes.
func asked(t *testing.T, request, response int) (rx, tx *stream.Conn, h stream.Hello, all opened) {
	t.Helper()
	all = open(t, "127.0.0.1:0", 1, request, sock.Options{})
	h = all.hello[0]
	h.ResponseBytes = uint32(response)
	return all.rx[0], all.tx[0], h, all
}

// A receiver by AF_XDP answers requests as soon as it has taken what was there, however few, and by
// the flow's socket; at the end it has freed what the answers lay in.
func TestFramesAreAnswered(t *testing.T) {
	rx, tx, h, _ := asked(t, 18, 40)
	r, m, p := framed(18, true), new(stream.Meter), make([]byte, 18)
	if err := r.open(rx, h, stream.Options{MessageBytes: 18}); err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(3) {
		put(p, rx.Key, seq)
		if r.frame(r.frameOf(p), m) {
			m.Packets(1)
		}
	}
	done := onThread(func() error { return r.Receive(rx, m) })
	if err := sock.Blocking(tx.FD, await.Hang); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	for want := range uint64(3) {
		n, errno := sock.Recv(tx.FD, b, 0)
		for errno == unix.EINTR { // the runtime's signals
			n, errno = sock.Recv(tx.FD, b, 0)
		}
		if seq, ok := parse(b[:max(n, 0)], answerKey(tx.Key)); errno != 0 || n != 40 || !ok || seq != want {
			t.Fatalf("answer %d: %d bytes, %v, number %d, %v", want, n, errno, seq, ok)
		}
	}
	tx.Sent = 3
	if err := tx.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, done); err != nil || m.Snapshot().Transactions != 3 {
		t.Errorf("%v, %+v", err, m.Snapshot())
	}
	if err := r.Close(); err != nil || r.reply != nil {
		t.Errorf("closed: %v, answers %v", err, r.reply)
	}
	if err := r.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
}
