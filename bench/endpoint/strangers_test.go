// SPDX-License-Identifier: MIT

package endpoint

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// crowd attacks a data port. Every connection that it opens is one that the port
// must close and count.
type crowd struct {
	t      *testing.T
	addr   string
	opened atomic.Uint64
	wg     sync.WaitGroup
}

// come opens n connections at once, each of which does as f says, and then waits
// until the port has closed it.
func (c *crowd) come(n int, f func(net.Conn)) {
	for range n {
		c.wg.Go(func() {
			conn, err := net.Dial("tcp", c.addr)
			if err != nil {
				return // it never got in
			}
			c.opened.Add(1)
			defer conn.Close()
			conn.SetDeadline(await.Deadline())
			f(conn)
			if n, _ := io.Copy(io.Discard, conn); n != 0 {
				c.t.Errorf("a stranger was told %d bytes", n)
			}
		})
	}
}

func hello(cookie stream.Cookie) []byte {
	b, err := stream.Hello{Cookie: cookie, TXMode: "tcp", MessageBytes: mib, PeriodBytes: 4096}.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// early are the peers that a data port must stand before its flow is there. It
// returns how many they are.
func (c *crowd) early() int {
	wrong := hello(stream.NewCookie())
	broken := hello(cookie)
	broken[len(broken)-1] ^= 1
	c.come(3, func(conn net.Conn) { conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) })
	c.come(3, func(conn net.Conn) { conn.Write(wrong) })
	c.come(3, func(conn net.Conn) { conn.Write(broken) })
	c.come(2, func(conn net.Conn) { conn.Write(bytes.Repeat([]byte{0xff}, 4*mib)) }) // huge
	c.come(2, func(net.Conn) {})                                                     // says nothing
	c.come(2, func(conn net.Conn) {                                                  // and slow
		for _, b := range wrong[:20] {
			if _, err := conn.Write([]byte{b}); err != nil {
				return
			}
			await.Pause("it is slow", 20*time.Millisecond)
		}
	})
	c.come(2, func(conn net.Conn) { conn.(*net.TCPConn).CloseWrite() }) // half closed
	c.come(2, func(conn net.Conn) {                                     // breaks off, with a reset
		conn.Write(wrong[:10])
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	})
	c.come(40, func(net.Conn) {})
	return 59
}

// late are those that come while the flow is measured.
func (c *crowd) late() {
	right := hello(cookie)
	c.come(5, func(conn net.Conn) { conn.Write(right) }) // a second flow
	c.come(5, func(conn net.Conn) { conn.Write(bytes.Repeat(right, 10000)) })
	c.come(5, func(net.Conn) {})
	c.come(5, func(conn net.Conn) {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	})
	c.come(100, func(conn net.Conn) { conn.Write([]byte("garbage")) })
}

// Malicious and confused peers, before and during a measured run, change nothing
// and are counted.
func TestStrangersChangeNothing(t *testing.T) {
	for _, rx := range runnable(t, stream.RX) {
		if m, _ := modes.Find(stream.RX, rx); m.Has(stream.NoPayload) || m.Has(stream.NeedsDev) {
			continue
		}
		t.Run(rx, func(t *testing.T) { underAttack(t, rx) })
	}
}

// underAttack lets a flow go on until the last stranger has been turned away,
// however long that takes.
func underAttack(t *testing.T, rx string) {
	r := open(t, rxSpec(rx, mib))
	c := &crowd{t: t, addr: r.Addr().String()}
	early := c.early()
	until(t, "strangers before the run", func() bool { return c.opened.Load() == uint64(early) })
	res := background(t.Context(), r, lasting(0))
	p := streamtest.Payload(t, mib)
	conn := dialTo(t, r, p, 20*time.Millisecond)
	sent := make(chan uint64, 1)
	go func() { sent <- sendMessages(conn, p, 1<<40) }()
	defer conn.Stop()
	flows(t, r)
	c.late()
	c.wg.Wait()
	conn.Stop()
	bytes := <-sent
	if err := conn.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	account, err := conn.ReadFarewell(await.Deadline())
	if err != nil {
		t.Fatal(err)
	}
	got := result(t, res)
	if got.Verdict != results.OK || account != (stream.Farewell{Bytes: bytes, Verified: true}) {
		t.Errorf("under attack: %s %s; of %d bytes it says %+v", got.Verdict, got.Reason, bytes, account)
	}
	if got.Total.Bytes != bytes || got.Total.Mismatches != 0 || got.Window.Bytes == 0 {
		t.Errorf("%d bytes sent, %d received, %d of them wrong, %d in the window", bytes, got.Total.Bytes,
			got.Total.Mismatches, got.Window.Bytes)
	}
	if n := c.opened.Load(); got.Strangers != n || n < 100 {
		t.Errorf("%d strangers were counted of %d", got.Strangers, n)
	}
}
