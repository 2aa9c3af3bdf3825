// SPDX-License-Identifier: MIT

package uring

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// flow is the payload of the transfer tests: random bytes that repeat with a
// period that no buffer size divides.
type flow struct {
	twice  []byte
	period int
}

func newFlow() flow {
	const period = 1<<20 + 7
	b := make([]byte, 2*period)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(b[:period])
	copy(b[period:], b[:period])
	return flow{b, period}
}

// at is n bytes from position pos; n is at most the period.
func (f flow) at(pos, n int) []byte {
	pos %= f.period
	return f.twice[pos : pos+n]
}

// send writes total bytes in pieces of odd sizes and ends the flow.
func (f flow) send(fd, total int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for pos := 0; pos < total; {
		n, err := unix.Write(fd, f.at(pos, min(1+rng.IntN(f.period), total-pos)))
		if err != nil && err != unix.EINTR {
			return err
		}
		pos += max(n, 0)
	}
	return unix.Shutdown(fd, unix.SHUT_WR)
}

// received is what receive saw.
type received struct {
	bytes, cqes, spans, multi, rearms, held int
}

// receive takes the flow to its end and compares every byte. slow leaves that
// many buffers unreturned as long as the kernel has others.
func (f flow) receive(r *Ring, b *BufRing, fd int, bundle bool, slow int) (got received, err error) {
	held := []uint16{}
	r.GetSQE().RecvMultishot(fd, b.Group(), bundle, 1)
	for {
		if _, err = r.SubmitAndWait(1, await.Hang); err != nil {
			return got, err
		}
		n := r.CQReady()
		if n == 0 {
			return got, errors.New("no completion")
		}
		for i := range n {
			c := *r.CQEAt(i)
			if e := c.Errno(); e != 0 && e != unix.ENOBUFS {
				return got, e
			}
			got.cqes++
			k := 0
			for s := b.Spans(c); s.Next(); k++ {
				if p := s.Bytes(); !bytes.Equal(p, f.at(got.bytes, len(p))) {
					return got, fmt.Errorf("bytes differ in %d at position %d, buffer %d", len(p), got.bytes,
						s.BufferID())
				}
				got.bytes += len(s.Bytes())
				if s.Done() {
					held = append(held, s.BufferID())
				}
			}
			got.spans += k
			if k > 1 {
				got.multi++
			}
			switch {
			case c.More():
			case c.Res == 0:
				r.Advance(i + 1)
				got.held = len(held)
				return got, nil
			default:
				got.rearms++
				r.GetSQE().RecvMultishot(fd, b.Group(), bundle, 1)
			}
		}
		r.Advance(n)
		if len(held) > slow || b.Ready() == 0 {
			// Not in the order taken, so that place and identifier part.
			rand.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
			for _, id := range held {
				b.Add(id)
			}
			b.Advance()
			held = held[:0]
		}
	}
}

func TestMultishotTransfer(t *testing.T) { eachEngine(t, testMultishotTransfer) }

func testMultishotTransfer(t *testing.T) {
	total := long.Rounds(80, 300) << 20 // more than twice the largest ring
	if testEngine != Native {           // the buffers are the same code
		total = long.Rounds(40, 80) << 20
	}
	f := newFlow()
	for _, c := range []struct {
		name          string
		ring          string
		entries, size int
		bundle, inc   bool
	}{
		{"plain", "plain", 64, 16 << 10, false, false},
		{"deferred", "deferred", 64, 128 << 10, false, false},
		{"many", "deferred", 8192, 4096, false, false},
		{"bundle", "deferred", 256, 16 << 10, true, false},
		{"bundle many", "plain", 8192, 4096, true, false},
		{"incremental", "deferred", 16, 1 << 20, false, true},
		{"incremental bundle", "coop", 64, 32 << 10, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			skipUnless(t, c.bundle, c.inc)
			r := newRing(t, variants[c.ring])
			b, err := r.NewBufRing(BufRingOptions{Group: 3, Entries: c.entries, Size: c.size, Incremental: c.inc})
			if err != nil {
				t.Fatal(err)
			}
			got := transfer(t, f, r, b, total, c.bundle, 0)
			t.Logf("%d completions, %d spans, %d with several, %d issued again, %d enters, %d sleeps",
				got.cqes, got.spans, got.multi, got.rearms, r.Enters(), r.Sleeps())
			if c.bundle && got.multi == 0 {
				t.Error("no completion covered several buffers")
			}
			if b.Ready()+got.held != b.Entries() {
				t.Errorf("%d buffers with the kernel and %d here, of %d", b.Ready(), got.held, b.Entries())
			}
		})
	}
}

// skipUnless skips what this kernel cannot do.
func skipUnless(t *testing.T, bundle, inc bool) {
	t.Helper()
	if err := tryRecv(bundle, inc); err != nil {
		t.Skip(err)
	}
}

// transfer runs a flow of total bytes through b.
func transfer(t *testing.T, f flow, r *Ring, b *BufRing, total int, bundle bool, slow int) received {
	t.Helper()
	tx, rx := tcpPair(t)
	sent := make(chan error, 1)
	go func() { sent <- f.send(tx, total) }()
	got, err := f.receive(r, b, rx, bundle, slow)
	if err != nil {
		_ = unix.Shutdown(tx, unix.SHUT_RDWR) // lets the sender go
	}
	if err = errors.Join(err, <-sent); err != nil {
		t.Fatal(err)
	}
	if got.bytes != total {
		t.Fatalf("%d bytes of %d", got.bytes, total)
	}
	return got
}

// Buffers run out again and again; nothing is lost.
func TestBufferExhaustion(t *testing.T) { eachEngine(t, testBufferExhaustion) }

func testBufferExhaustion(t *testing.T) {
	f := newFlow()
	for _, c := range []struct{ bundle, inc bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("bundle=%v,inc=%v", c.bundle, c.inc), func(t *testing.T) {
			skipUnless(t, c.bundle, c.inc)
			r := newRing(t, variants["deferred"])
			b, err := r.NewBufRing(BufRingOptions{Entries: 4, Size: 8 << 10, Incremental: c.inc})
			if err != nil {
				t.Fatal(err)
			}
			got := transfer(t, f, r, b, long.Rounds(8, 32)<<20, c.bundle, 100)
			if got.rearms == 0 {
				t.Error("buffers never ran out")
			}
			t.Logf("%+v", got)
		})
	}
}

// The ring's tail passes 65535 with buffers returned one by one.
func TestTailWraps(t *testing.T) { eachEngine(t, testTailWraps) }

func testTailWraps(t *testing.T) {
	r := newRing(t, variants["plain"])
	b, err := r.NewBufRing(BufRingOptions{Entries: 32768, Size: 64})
	if err != nil {
		t.Fatal(err)
	}
	wraps := long.Rounds(1, 3)
	got := transfer(t, newFlow(), r, b, (wraps+1)*65536*64, false, 1000)
	if got.spans < wraps*65536 {
		t.Errorf("only %d buffers were used", got.spans)
	}
}

func TestSpansOfNothing(t *testing.T) { eachEngine(t, testSpansOfNothing) }

func testSpansOfNothing(t *testing.T) {
	var b BufRing
	if s := b.Spans(CQE{Res: -int32(unix.ENOBUFS)}); s.Next() {
		t.Error("a span without a buffer")
	}
}
