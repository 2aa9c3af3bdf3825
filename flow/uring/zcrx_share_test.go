// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// Completions name the area that their payload is in: what was added begins where the memory ended
// until then, which doubled each time.
func TestZcrxWhere(t *testing.T) {
	z := &Zcrx{start: 4 * pageSize, size: 4 * pageSize}
	for _, c := range []struct{ area, off, want uint64 }{
		{0, 100, 100}, {1, 0, 4 * pageSize}, {2, 5, 8*pageSize + 5}, {3, pageSize, 17 * pageSize},
	} {
		if got := z.Where(&[2]uint64{c.area<<zcrxAreaShift | c.off}); got != c.want {
			t.Errorf("%d of area %d is at %d, not %d", c.off, c.area, got, c.want)
		}
		if c.area > 0 && z.parts() != c.area {
			t.Errorf("%d bytes: the next area is %d, not %d", z.size, z.parts(), c.area)
		}
		if c.area > 0 {
			z.size *= 2
		}
	}
}

// tail is an interface queue's refill ring that several write to, without a kernel.
func tail(entries int) (z [2]*Zcrx) {
	lock, head, end, rqes := new(uint32), new(uint32), new(uint32), make([]zcrxRqe, entries)
	for i := range z {
		z[i] = &Zcrx{lock: lock, head: head, tail: end, rqes: rqes, batch: make([]zcrxRqe, 0, refillBatch)}
	}
	return z
}

// Nothing that two rings give back is lost, or given back twice, however they take turns, also
// while the refill ring is full.
func TestZcrxTwoGiveBack(t *testing.T) {
	const each, entries = 1 << 16, 64
	z := tail(entries)
	var wg sync.WaitGroup
	for i := range z {
		wg.Go(func() {
			for n := range each {
				for !z[i].Refill(uint64(i)<<32|uint64(n), 1) {
					runtime.Gosched()
				}
				if n%7 == 0 {
					z[i].Publish()
				}
			}
			for z[i].Unposted() > 0 {
				z[i].Publish()
				runtime.Gosched()
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var next [2]uint64
	for ended := false; ; {
		for takeEntry(z[0], func(e zcrxRqe) {
			i := e.off >> 32
			if e.off&(1<<32-1) != next[i] {
				t.Errorf("ring %d: %d came, not %d", i, e.off&(1<<32-1), next[i])
			}
			next[i]++
		}) {
		}
		if ended {
			break
		}
		select {
		case <-done:
			ended = true
		default:
			runtime.Gosched()
		}
	}
	if next != [2]uint64{each, each} || z[0].RefillSpace() != entries {
		t.Errorf("%d went back, of %d each; %d entries are free", next, each, z[0].RefillSpace())
	}
}

// What there is room for is never less than nothing, and never more than the refill ring has,
// whatever the other ring and the kernel do meanwhile.
func TestZcrxSharedSpace(t *testing.T) {
	const entries = 64
	z := tail(entries)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 1 << 18 {
			z[1].Refill(0, 1)
			z[1].Publish()
			for takeEntry(z[1], func(zcrxRqe) {}) {
			}
		}
		done.Store(true)
	})
	for !done.Load() {
		if n := z[0].RefillSpace(); n < 0 || n > entries {
			t.Errorf("there is room for %d", n)
			break
		}
	}
	wg.Wait()
	*z[0].tail = *z[0].head + entries
	if z[0].batch = z[0].batch[:3]; z[0].RefillSpace() != 0 {
		t.Errorf("it is full, and there is room for %d", z[0].RefillSpace())
	}
}

// takeEntry takes an entry as the kernel does.
func takeEntry(z *Zcrx, f func(zcrxRqe)) bool {
	head := atomic.LoadUint32(z.head)
	if head == atomic.LoadUint32(z.tail) {
		return false
	}
	f(z.rqes[head&uint32(len(z.rqes)-1)])
	atomic.StoreUint32(z.head, head+1)
	return true
}

// One that was killed while it wrote does not hold others up: what they give back waits, and they
// are told so.
func TestZcrxTailIsHeld(t *testing.T) {
	z := tail(1024)
	*z[1].lock = 1
	for range refillBatch {
		if !z[0].Refill(0, 1) {
			t.Fatal("there was room for a batch")
		}
	}
	if z[0].Refill(0, 1) || z[0].Unposted() != refillBatch {
		t.Errorf("%d wait", z[0].Unposted())
	}
	*z[1].lock = 0
	if !z[0].Refill(0, 1) || *z[0].tail != refillBatch || z[0].Unposted() != 1 {
		t.Errorf("%d went back, %d wait", *z[0].tail, z[0].Unposted())
	}
}

// needFeature skips where the kernel lacks it.
func needFeature(t testing.TB, f Feature) {
	t.Helper()
	if !f.Supported {
		t.Skipf("%s: %s; %s", f.Name, f.Reason, f.Fix)
	}
}

// Two rings, each on its own thread, share a queue: all of both flows arrives, through one refill
// ring and an area that could not hold what one of them does not give back.
func TestZcrxTwoRings(t *testing.T) { eachEngine(t, testZcrxTwoRings) }

func testZcrxTwoRings(t *testing.T) {
	needFeature(t, Probe().ZcrxImport)
	total := long.Rounds(3, 8) << 20
	m := newMemory(t, 256*pageSize)
	fds := openFDs(t)
	first := newRing(t, zcrxRing)
	z, err := first.NewZcrx(ZcrxOptions{NoDevice: true, Area: ZcrxArea{Bytes: m.Bytes()}, RefillEntries: 256,
		Shared: true, Stats: Probe().ZcrxStats.Supported})
	if err != nil {
		t.Fatal(err)
	}
	s, err := z.Share()
	if err != nil {
		t.Fatal(err)
	}
	run := func(r *Ring, z *Zcrx) int {
		tx, rx := tcpPair(t)
		f := newFlow()
		go func() { _ = f.send(tx, total) }()
		v := &receiver{t: t, r: r, z: z, fd: rx, f: f}
		r.GetSQE().RecvZC(rx, z.ID(), 7)
		for !v.ended {
			v.step()
		}
		return v.got
	}
	got := make(chan int)
	go func() { // a process's part of the memory is mapped anew, as another process does
		runtime.LockOSThread()
		defer close(got)
		r, err := New(zcrxRing)
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		other := s
		other.region = nil
		if other.RegionFD, err = unix.FcntlInt(uintptr(s.RegionFD), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			t.Error(err)
			return
		}
		z, err := r.ImportZcrx(other, m.Bytes())
		_ = unix.Close(other.RegionFD)
		if err != nil {
			t.Errorf("%v; %s", err, told(err))
			return
		}
		got <- run(r, z)
	}()
	if a, b := run(first, z), <-got; a != total || b != total {
		t.Errorf("%d and %d bytes of %d", a, b, total)
	}
	<-got
	if err := errors.Join(unix.Close(s.FD), first.Close()); err != nil {
		t.Error(err)
	}
	if n := openFDs(t); n > fds+4 { // the sockets are closed by the test's end
		t.Errorf("descriptors: %d before, %d after", fds, n)
	}
}

// What is no interface queue is refused, and says so.
func TestZcrxImportOfOther(t *testing.T) {
	needFeature(t, Probe().ZcrxImport)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r := newRing(t, zcrxRing)
	_, err = r.ImportZcrx(ZcrxShare{FD: int(null.Fd()), region: newMemory(t, pageSize)}, nil)
	if !errors.Is(err, unix.EBADF) {
		t.Errorf("%v", err)
	}
	z := newNoDevice(t, newRing(t, zcrxRing), 16, 16)
	if _, err := z.Share(); err == nil {
		t.Error("a queue that was registered for one ring is shared")
	}
}

// An area that is too small for what is held grows until all of it fits, and payload of all its
// parts is right.
func TestZcrxGrows(t *testing.T) { eachEngine(t, testZcrxGrows) }

func testZcrxGrows(t *testing.T) {
	needFeature(t, Probe().ZcrxAddArea)
	const pages = 100 // no power of two
	r := newRing(t, Options{SQEntries: 8, CQEntries: 512, SingleIssuer: true, DeferTaskrun: true, CQE32: true})
	m := newMemory(t, pages*pageSize)
	z, err := r.NewZcrx(ZcrxOptions{NoDevice: true, Area: ZcrxArea{Bytes: m.Bytes()}, RefillEntries: 128,
		Start: 8 * pageSize})
	if err != nil {
		t.Fatal(err)
	}
	tx, rx := tcpPair(t)
	f, total := newFlow(), (pages-1)*pageSize
	go func() { _ = f.send(tx, total) }()
	r.GetSQE().RecvZC(rx, z.ID(), 7)
	sizes, got, kept := []int{z.Buffers()}, 0, [][2]uint64{}
	for ended := false; !ended; {
		if _, err := r.SubmitAndWait(1, -1); err != nil {
			t.Fatal(err)
		}
		again := false
		d := r.Drain()
		for d.Next() {
			c := d.CQE()
			switch {
			case c.More():
				if i := firstDifference(z.Bytes(c, d.Extra()), f.at(got, int(c.Res))); i >= 0 {
					t.Fatalf("byte %d of the flow is wrong", got+i)
				}
				got += int(c.Res)
				kept = append(kept, [2]uint64{d.Extra()[0], uint64(c.Res)})
			case c.Errno() == unix.ENOMEM:
				n, err := z.Grow()
				if err != nil {
					t.Fatalf("%v; %s", err, told(err))
				}
				if again = true; n > 0 {
					sizes = append(sizes, z.Buffers())
					break
				}
				for _, p := range kept { // it has all: what was held goes back, of each part
					z.Refill(p[0], uint32(p[1]))
				}
				kept = nil
				z.Publish()
				if err := z.Flush(); err != nil {
					t.Fatal(err)
				}
			case c.Errno() == unix.ENOSPC:
				again = true
			default:
				ended = c.Res == 0
			}
		}
		d.Done()
		if again {
			r.GetSQE().RecvZC(rx, z.ID(), 7)
		}
	}
	if len(sizes) != 5 || sizes[4] != pages || got != total {
		t.Errorf("sizes in pages: %d; %d bytes of %d", sizes, got, total)
	}
	if n, err := z.Grow(); n != 0 || err != nil {
		t.Errorf("it grew by %d more; %v", n, err)
	}
}
