// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// flood is strangers that sit at a data port and say nothing, and others that
// come without end.
type flood struct {
	addr   string
	tried  atomic.Uint64
	opened atomic.Uint64 // connections, each of which the port must count
	silent []net.Conn
	wg     sync.WaitGroup
}

// sit opens n connections that say nothing.
func (f *flood) sit(t *testing.T, n int) {
	t.Helper()
	for range n {
		c, err := net.DialTimeout("tcp", f.addr, await.Hang)
		if err != nil {
			t.Fatalf("after %d silent connections: %v", len(f.silent), err)
		}
		f.tried.Add(1)
		f.opened.Add(1)
		f.silent = append(f.silent, c)
	}
}

// come opens connections from every loopback address of several, n in all, until
// ctx ends. Each ends with a reset, which leaves no port behind in TIME_WAIT.
func (f *flood) come(ctx context.Context, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	for i := range 4 {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(10+i))}}
		f.wg.Go(func() {
			for ctx.Err() == nil && left.Add(-1) >= 0 {
				f.tried.Add(1)
				c, err := d.DialContext(ctx, "tcp", f.addr)
				if err != nil {
					continue // it may have been open for a moment, all the same
				}
				f.opened.Add(1)
				c.Write([]byte("let me in"))
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
			}
		})
	}
}

func (f *flood) end() {
	f.wg.Wait()
	for _, c := range f.silent {
		c.Close()
	}
}

// Thousands of silent connections that sit at the data port before a run, and a
// flood of others from before its beginning to its end: the sender gets in, every
// byte arrives, and nothing is left.
func TestFloodBesideARun(t *testing.T) {
	silent, attempts := long.Rounds(700, 4000), long.Rounds(2000, 20_000)
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d flows", n), func(t *testing.T) { floodBeside(t, n, silent, attempts) })
	}
}

func floodBeside(t *testing.T, n, silent, attempts int) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur < uint64(3*silent) {
		t.Skipf("needs %d descriptors: ulimit -n %d", 3*silent, 3*silent)
	}
	before := descriptors(t)
	r, s := openBoth(t, several(rxSpec("tcp", mib), n), several(txSpec("tcp", mib), n))
	f := &flood{addr: r.Addr().String()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.sit(t, silent)
	f.come(ctx, attempts)
	rx, tx := begin(t, r, s)
	flows(t, r)
	flows(t, s)
	until(t, "the flood", func() bool { return f.opened.Load() >= uint64(silent+attempts/10) || len(rx)+len(tx) > 0 })
	await.Pause("more of it come", time.Duration(long.Rounds(500, 8000))*time.Millisecond)
	if len(rx)+len(tx) == 0 {
		s.stop()
	}
	rres, sres := result(t, rx), result(t, tx)
	// Those that are done connecting before the port closes are counted, also by
	// an end that is done.
	cancel()
	f.wg.Wait()
	closeEnd(t, r)
	closeEnd(t, s)
	f.end()
	if rres.Verdict != results.OK {
		t.Errorf("receiver: %s: %s", rres.Verdict, rres.Reason)
	}
	if rres.Total.Bytes == 0 || rres.Total.Bytes != sres.Total.Bytes || rres.Total.Mismatches != 0 {
		t.Errorf("%d bytes sent, %d received, %d wrong; sender: %s: %s", sres.Total.Bytes, rres.Total.Bytes,
			rres.Total.Mismatches, sres.Verdict, sres.Reason)
	}
	opened := f.opened.Load()
	if opened < uint64(silent+attempts/10) || rres.Strangers > f.tried.Load() || rres.Strangers < uint64(silent)/2 {
		t.Errorf("%d strangers were counted, %d connections made, %d tried", rres.Strangers, opened, f.tried.Load())
	}
	t.Logf("%d connections, %d counted when the run ended, %d bytes beside them", opened, rres.Strangers,
		rres.Total.Bytes)
	until(t, fmt.Sprintf("no more than %d descriptors", before),
		func() bool { runtime.GC(); return descriptors(t) <= before })
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
