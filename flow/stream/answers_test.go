// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// asked are both ends of a flow whose requests are answered; the second is the asker's socket.
func asked(t testing.TB, h Hello) (*Answers, int) {
	t.Helper()
	here, there := pairOf(t)
	a, err := NewAnswers(here, h)
	if err != nil {
		t.Fatal(err)
	}
	return a, there.FD
}

// pairOf is a TCP connection over loopback.
func pairOf(t testing.TB) (here, there *Conn) {
	t.Helper()
	port, err := Listen("127.0.0.1:0", Cookie{}, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	there, err = connect(t.Context(), port.Addr().String(), sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	b, err := Hello{TXMode: "rr", MessageBytes: 1, PeriodBytes: 8}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := there.writeAll(b); err != nil {
		t.Fatal(err)
	}
	here, _, err = port.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	return here, there
}

// Each request is answered by its own bytes, in whatever pieces it comes.
func TestAnswers(t *testing.T) {
	flow := make([]byte, 4096)
	fillPattern(flow, len(flow))
	for _, x := range []struct{ request, response, piece int }{{1, 1, 1}, {1, 1, 100}, {8, 3, 5}, {3, 8, 7},
		{100, 1, 33}, {1, 1000, 4}, {64, 64, 4096}} {
		a, fd := asked(t, Hello{MessageBytes: uint64(x.request), ResponseBytes: uint32(x.response)})
		m := &Meter{}
		m.Answer(a)
		touch, n := NewToucher(TouchNone, len(flow)), min(len(flow)/x.request, 60)
		for rest := flow[:n*x.request]; len(rest) > 0; {
			k := min(x.piece, len(rest))
			touch.Next(rest[:k], m)
			m.Bytes(k)
			rest = rest[k:]
		}
		var want []byte
		for k := range n {
			for i := range x.response {
				want = append(want, flow[k*x.request+i%x.request])
			}
		}
		got := make([]byte, 0, len(want)+1)
		for len(got) < len(want) {
			k, err := unix.Read(fd, got[len(got):cap(got)])
			if err == unix.EAGAIN {
				continue
			}
			if err != nil || k == 0 {
				t.Fatalf("%+v: %v after %d bytes", x, err, len(got))
			}
			got = got[:len(got)+k]
		}
		if c := m.Snapshot(); !bytes.Equal(got, want) || c.Transactions != uint64(n) || a.Err() != nil {
			t.Errorf("%+v: %d answers of %d, %v", x, c.Transactions, n, a.Err())
		}
	}
}

// A path that counts what it does not show cannot answer: its flow is ended, and says so.
func TestAnswersOfAPathThatDoesNotLook(t *testing.T) {
	a, _ := asked(t, Hello{MessageBytes: 4, ResponseBytes: 4})
	m := &Meter{}
	m.Answer(a)
	m.Bytes(4)
	if err := a.Err(); err == nil || !strings.Contains(err.Error(), "showed 0") || a.conn.Aborted() == nil {
		t.Errorf("%v", err)
	}
}

// Answers are made for no more than a receiver should keep.
func TestAnswersRefused(t *testing.T) {
	here, _ := pairOf(t)
	for _, h := range []Hello{{MessageBytes: MaxTripBytes + 1, ResponseBytes: 1},
		{MessageBytes: 1, ResponseBytes: MaxTripBytes + 1}, {MessageBytes: 1}} {
		if _, err := NewAnswers(here, h); err == nil {
			t.Errorf("%+v", h)
		}
		if h.ResponseBytes == 0 {
			continue
		}
		h.TXMode, h.PeriodBytes = "rr", 8
		if _, err := ParseHello(encode(t, h)); err == nil || !strings.Contains(err.Error(), "byte 20") {
			t.Errorf("%+v: %v", h, err)
		}
	}
}
