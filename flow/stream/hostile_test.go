// SPDX-License-Identifier: MIT

package stream_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// mended is a frame with change made to it, and a checksum that is right again:
// what somebody sends who knows the format.
func mended(frame []byte, change func([]byte)) []byte {
	b := slices.Clone(frame)
	change(b)
	body := b[:len(b)-4]
	return binary.BigEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// malformed are first words that are no hello, however near they come. All but
// one know the cookie.
func malformed(t *testing.T, c stream.Cookie) map[string][]byte {
	t.Helper()
	right, err := helloOf(c).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if again := mended(right, func([]byte) {}); !bytes.Equal(again, right) {
		t.Fatalf("the checksum is another one: %x, not %x", again, right)
	}
	wrong, _ := helloOf(stream.NewCookie()).AppendBinary(nil)
	flipped := slices.Clone(right)
	flipped[40] ^= 1
	hello := func(change func(*stream.Hello)) []byte {
		h := helloOf(c)
		change(&h)
		b, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	all := map[string][]byte{
		"another cookie": wrong,
		"a bit flipped":  flipped,
		"another magic":  mended(right, func(b []byte) { copy(b, "HTTP") }),
		"magic of a farewell": mended(right,
			func(b []byte) { f, _ := stream.Farewell{}.AppendBinary(nil); copy(b, f[:4]) }),
		"messages of no byte": hello(func(h *stream.Hello) { h.MessageBytes = 0 }),
		"messages beyond the limit": hello(func(h *stream.Hello) {
			h.MessageBytes = stream.MaxMessageBytes +
				1
		}),
		"a period of no byte":              hello(func(h *stream.Hello) { h.PeriodBytes = 0 }),
		"a period beyond the limit":        hello(func(h *stream.Hello) { h.PeriodBytes = stream.MaxPeriodBytes + 8 }),
		"a period of odd bytes":            hello(func(h *stream.Hello) { h.PeriodBytes = 4097 }),
		"a mode that plays with terminals": hello(func(h *stream.Hello) { h.TXMode = "\x1b]0;x\a" }),
		"a mode with a NUL inside":         hello(func(h *stream.Hello) { h.TXMode = "tcp\x00x" }),
		"a number beyond the flows":        mended(right, func(b []byte) { b[67] = 1 }),
		"more flows than there may be":     mended(right, func(b []byte) { b[64] = 0xff }),
		"an endless duration":              mended(right, func(b []byte) { b[36] = 0xff }),
		"moved by a byte":                  append([]byte{right[0]}, right[:len(right)-1]...),
		"backwards":                        func() []byte { b := slices.Clone(right); slices.Reverse(b); return b }(),
		"zeros":                            make([]byte, len(right)),
		"ones":                             bytes.Repeat([]byte{0xff}, len(right)),
	}
	return all
}

// What is no hello does not become the flow, is counted, and leaves room for what
// is one.
func TestMalformedHellos(t *testing.T) {
	cookie := stream.NewCookie()
	all := malformed(t, cookie)
	if len(all) < 18 {
		t.Fatalf("%d hellos", len(all))
	}
	p := listen(t, cookie)
	for name, b := range all {
		c := connect(t, p)
		if _, err := c.Write(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.SetReadDeadline(await.Deadline())
		if n, err := c.Read(make([]byte, 1)); n != 0 || isTimeout(err) {
			t.Errorf("%s: read %d bytes, %v", name, n, err)
		}
	}
	strangers(t, p, uint64(len(all)))
	rx, tx := meet(t, p, helloOf(cookie))
	passes(t, rx, tx)
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}

// Of any number that come at once with the right cookie, one is the flow.
func TestRightCookieTwice(t *testing.T) {
	const n = 16
	cookie := stream.NewCookie()
	p := listen(t, cookie)
	hello, _ := helloOf(cookie).AppendBinary(nil)
	welcomed := make(chan net.Conn, n)
	var wg sync.WaitGroup
	for range n {
		c := connect(t, p)
		wg.Go(func() {
			c.Write(hello)
			c.SetReadDeadline(await.Deadline())
			if got, _ := c.Read(make([]byte, 1)); got == 1 {
				welcomed <- c
			}
		})
	}
	rx, _, err := p.Accept(await.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	defer rx.Close()
	if err := rx.Welcome(stream.Welcome{Duration: time.Second}); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if n := len(welcomed); n != 1 {
		t.Fatalf("%d were welcomed", n)
	}
	if c := <-welcomed; c.LocalAddr().String() != rx.Remote.String() {
		t.Errorf("%v was welcomed, %v is the flow", c.LocalAddr(), rx.Remote)
	}
	strangers(t, p, n-1)
}

// Those that break off in the middle of a hello, at any byte of it, by a reset or
// by ending their side, are counted and leave nothing behind.
func TestHelloBrokenOff(t *testing.T) {
	cookie := stream.NewCookie()
	p := listen(t, cookie)
	hello, _ := helloOf(cookie).AppendBinary(nil)
	before := streamtest.Holding(t)
	for cut := range hello {
		half := connect(t, p).(*net.TCPConn)
		half.Write(hello[:cut])
		half.CloseWrite()
		closed(t, half)
		half.Close()
		reset := connect(t, p).(*net.TCPConn)
		reset.Write(hello[:cut])
		reset.SetLinger(0)
		reset.Close()
	}
	strangers(t, p, uint64(2*len(hello)))
	streamtest.NoMore(t, before, 16<<20)
	rx, tx := meet(t, p, helloOf(cookie))
	passes(t, rx, tx)
}

// One that never stops sending is closed as soon as it is no hello, while it
// sends, and costs no memory.
func TestEndlessStranger(t *testing.T) {
	p := listen(t, stream.NewCookie())
	before := streamtest.Holding(t)
	c := connect(t, p)
	const most = 1 << 30 // more than the buffers of both ends hold
	sent := 0
	b := []byte(strings.Repeat("x", 1<<20))
	for {
		c.SetWriteDeadline(await.Deadline())
		n, err := c.Write(b)
		if sent += n; err != nil {
			if isTimeout(err) {
				t.Errorf("it was left to wait after %d bytes", sent)
			}
			break
		}
		if sent > most {
			t.Fatalf("it has sent %d bytes, and sends on", sent)
		}
	}
	c.Close()
	strangers(t, p, 1)
	streamtest.NoMore(t, before, 16<<20)
}

// What follows a right hello at once belongs to the flow, also where it is a
// hello again.
func TestHelloTwiceOnOneConnection(t *testing.T) {
	cookie := stream.NewCookie()
	p := listen(t, cookie)
	hello, _ := helloOf(cookie).AppendBinary(nil)
	c := connect(t, p)
	c.Write(append(slices.Clone(hello), hello...))
	rx, _, err := p.Accept(await.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	defer rx.Close()
	got := make([]byte, 2*len(hello))
	ready(t, rx.FD, unix.POLLIN)
	n, errno := sock.Recv(rx.FD, got, unix.MSG_DONTWAIT)
	if errno != 0 || !bytes.Equal(got[:max(n, 0)], hello) {
		t.Errorf("the flow begins with %d bytes, %v", n, errno)
	}
	if p.Strangers() != 0 {
		t.Errorf("%d strangers", p.Strangers())
	}
}
