package endpoint

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/counter"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/wire"
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
			conn.SetDeadline(time.Now().Add(10 * time.Second))
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

// early are the peers that a data port must stand before its flow is there.
func (c *crowd) early() {
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
			time.Sleep(20 * time.Millisecond)
		}
	})
	c.come(2, func(conn net.Conn) { conn.(*net.TCPConn).CloseWrite() }) // half closed
	c.come(2, func(conn net.Conn) {                                     // breaks off, with a reset
		conn.Write(wrong[:10])
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	})
	c.come(40, func(net.Conn) {})
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
		if m, _ := stream.LookupMode(stream.RX, rx); m.NoPayload || m.NeedsDev {
			continue
		}
		t.Run(rx, func(t *testing.T) {
			var err error
			for range 3 {
				if err = underAttack(t, rx); err == nil {
					return
				}
			}
			t.Error(err)
		})
	}
}

func underAttack(t *testing.T, rx string) error {
	r, s := openBoth(t, rxSpec(rx, mib), txSpec("tcp", mib))
	c := &crowd{t: t, addr: r.Addr().String()}
	c.early()
	time.Sleep(50 * time.Millisecond)
	now := counter.Monotonic() + 300*ms
	sch := wire.Schedule{StartNs: now, FromNs: now + 500*ms, ToNs: now + 1000*ms, StopNs: now + 1100*ms, PeerWaitNs: 5000 * ms, StallNs: 3000 * ms}
	all := 1.0 // loopback may copy
	sch.MaxCopiedFrac = &all
	during := time.AfterFunc(900*time.Millisecond, c.late)
	defer during.Stop()
	rxDone, txDone := background(t.Context(), r, sch), background(t.Context(), s, sch)
	rres, sres := within(t, rxDone, 20*time.Second), within(t, txDone, 20*time.Second)
	closeEnd(t, r)
	closeEnd(t, s)
	c.wg.Wait()
	left := c.opened.Load()
	if rres.Verdict == results.Invalid { // the window was missed: this machine has other work
		return fmt.Errorf("%s: %s", rres.Verdict, rres.Reason)
	}
	switch {
	case rres.Verdict != results.OK || sres.Verdict != results.OK:
		t.Errorf("under attack: %s %s; %s %s", rres.Verdict, rres.Reason, sres.Verdict, sres.Reason)
	case rres.Total.Bytes == 0 || rres.Total.Bytes != sres.Total.Bytes || rres.Total.Mismatches != 0 || rres.Window.Bytes == 0:
		t.Errorf("%d bytes sent, %d received, %d of them wrong, %d in the window", sres.Total.Bytes, rres.Total.Bytes, rres.Total.Mismatches, rres.Window.Bytes)
	case rres.Strangers != left || left < 100:
		t.Errorf("%d strangers were counted of %d", rres.Strangers, left)
	}
	return nil
}
