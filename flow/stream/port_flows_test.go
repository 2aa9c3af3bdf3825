// SPDX-License-Identifier: MIT

package stream_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

func listenFor(t *testing.T, c stream.Cookie, flows int) *stream.Port {
	t.Helper()
	p, err := stream.ListenFor("127.0.0.1:0", c, flows, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// numbered is the hello of one of several flows.
func numbered(t *testing.T, c stream.Cookie, n, of int) []byte {
	t.Helper()
	h := helloOf(c)
	h.Flow, h.Flows = n, of
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A port of several flows takes each number once, and no more.
func TestPortOfFlows(t *testing.T) {
	cookie := stream.NewCookie()
	p := listenFor(t, cookie, 3)
	say := func(n int) net.Conn {
		c := connect(t, p)
		if _, err := c.Write(numbered(t, cookie, n, 3)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for i, n := range []int{2, 0, 1} {
		say(n)
		c, h, err := p.Accept(await.Context(t))
		if err != nil || h.Flow != n || h.Flows != 3 {
			t.Fatalf("flow %d: %+v, %v", n, h, err)
		}
		c.Close()
		closed(t, say(n)) // again
		strangers(t, p, uint64(i+1))
	}
	closed(t, connect(t, p))
	strangers(t, p, 4)
}

// Of any number of connections that claim each number at once, one is the flow.
func TestNumbersClaimedAtOnce(t *testing.T) {
	const flows, claims = 3, 16
	cookie := stream.NewCookie()
	p := listenFor(t, cookie, flows)
	var wg sync.WaitGroup
	var mu sync.Mutex
	welcomed := map[string]int{} // the flow's number, by the sender's address
	for n := range flows {
		hello := numbered(t, cookie, n, flows)
		for range claims {
			c := connect(t, p)
			wg.Go(func() {
				c.Write(hello)
				c.SetReadDeadline(await.Deadline())
				if got, _ := c.Read(make([]byte, 1)); got == 1 {
					mu.Lock()
					defer mu.Unlock()
					welcomed[c.LocalAddr().String()] = n
				}
			})
		}
	}
	came := map[int]string{}
	for range flows {
		rx, h, err := p.Accept(await.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		defer rx.Close()
		if other, ok := came[h.Flow]; ok {
			t.Errorf("flow %d is %v, and %s", h.Flow, rx.Remote, other)
		}
		came[h.Flow] = rx.Remote.String()
		if err := rx.Welcome(stream.Welcome{Duration: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	for addr, n := range welcomed {
		if came[n] != addr {
			t.Errorf("%s was welcomed as flow %d, which is %s", addr, n, came[n])
		}
	}
	if len(welcomed) != flows {
		t.Errorf("%d were welcomed", len(welcomed))
	}
	strangers(t, p, flows*(claims-1))
}

// Several flows come while others claim their numbers with a wrong cookie, numbers that are not
// there, numbers that have come, say nothing, or a byte at a time: each flow is there, and is
// who it was.
func TestFlowsAmongStrangers(t *testing.T) {
	const flows, silent, slow = 4, 30, 3
	cookie := stream.NewCookie()
	p := listenFor(t, cookie, flows)
	others := 0
	stranger := func(says []byte) net.Conn {
		c := connect(t, p)
		c.Write(says)
		others++
		return c
	}
	beyond := mended(numbered(t, cookie, 0, flows), func(b []byte) { b[67] = flows })
	for n := range flows {
		closed(t, stranger(numbered(t, stream.NewCookie(), n, flows)))
		closed(t, stranger(beyond))
	}
	for range silent {
		stranger(nil)
	}
	for i := range slow {
		stranger(numbered(t, cookie, i, flows)[:40]) // the rest never comes
	}
	var wg sync.WaitGroup
	txs := make([]*stream.Conn, flows)
	for n := range flows {
		wg.Go(func() {
			h := helloOf(cookie)
			h.Flow, h.Flows = n, flows
			var err error
			if txs[n], _, err = stream.Dial(await.Context(t), p.Addr().String(), h, sock.Options{}); err != nil {
				t.Errorf("flow %d: %v", n, err)
			}
		})
	}
	rxs := make([]*stream.Conn, flows)
	for i := range flows {
		rx, h, err := p.Accept(await.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		defer rx.Close()
		rxs[h.Flow] = rx
		if i < flows-1 { // none is welcome before the last has come
			closed(t, stranger(numbered(t, cookie, h.Flow, flows)))
		}
	}
	for _, rx := range rxs {
		if err := rx.Welcome(stream.Welcome{Duration: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	for n, tx := range txs {
		if tx == nil {
			continue
		}
		defer tx.Close()
		if rxs[n].Remote != tx.Local {
			t.Errorf("flow %d is %v, and its sender %v", n, rxs[n].Remote, tx.Local)
		}
		passes(t, rxs[n], tx)
	}
	strangers(t, p, uint64(others))
}

// Thousands of silent connections are before the flow, which comes in all the same. How soon:
// TestBehindACrowd.
func TestGreatCrowd(t *testing.T) {
	crowd := long.Rounds(2000, 10_000)
	t.Cleanup(stream.SetHelloTime(time.Second))
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur < uint64(5*crowd) {
		t.Skipf("needs %d descriptors, for a quarter of them are for such a crowd: ulimit -n %d", 5*crowd, 5*crowd)
	}
	cookie := stream.NewCookie()
	p := listen(t, cookie)
	for range crowd {
		connect(t, p)
	}
	rx, tx := meet(t, p, helloOf(cookie))
	passes(t, rx, tx)
	strangers(t, p, uint64(crowd))
}

// A crowd never has more than a part of the process's descriptors.
func TestPendingRoom(t *testing.T) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	defer stream.SetMaxPending(1 << 30)()
	if got := uint64(stream.PendingRoom()); got > max(files.Cur/4, 16) {
		t.Errorf("%d of %d descriptors", got, files.Cur)
	}
	stream.SetMaxPending(7)
	if got := stream.PendingRoom(); got != 7 {
		t.Errorf("room for %d, not 7", got)
	}
}
