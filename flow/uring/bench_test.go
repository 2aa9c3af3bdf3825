// SPDX-License-Identifier: MIT

package uring

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dataPath is the ring that a data path uses.
var dataPath = Options{SQEntries: 64, CQEntries: 4096, SingleIssuer: true, DeferTaskrun: true, RegisterFD: true,
	SubmitAll: true}

func BenchmarkNop(b *testing.B) { eachEngine(b, benchNop) }

func benchNop(b *testing.B) {
	for name, call := range map[string]func(*Ring) (int, error){
		"now":  (*Ring).SubmitAndGetEvents,
		"wait": func(r *Ring) (int, error) { return r.SubmitAndWait(1, time.Second) },
	} {
		b.Run(name, func(b *testing.B) {
			r := newRing(b, dataPath)
			b.ReportAllocs()
			for b.Loop() {
				r.GetSQE().Nop(1)
				if _, err := call(r); err != nil {
					b.Fatal(err)
				}
				if _, ok := r.PeekCQE(); !ok {
					b.Fatal("no completion")
				}
				r.Advance(1)
			}
		})
	}
}

// BenchmarkRecv receives over loopback, the receiver on core 1 and the sender on
// core 0; an operation is a completion. The pool is all buffers together.
func BenchmarkRecv(b *testing.B) { eachEngine(b, benchRecvs) }

func benchRecvs(b *testing.B) {
	for _, pool := range []int{4 << 20, 32 << 20} {
		for _, size := range []int{16 << 10, 128 << 10, 1 << 20} {
			for _, kind := range []struct {
				name        string
				bundle, inc bool
			}{{"plain", false, false}, {"bundle", true, false}, {"inc", false, true}, {"incbundle", true, true}} {
				b.Run(fmt.Sprintf("pool=%dM/size=%dK/%s", pool>>20, size>>10, kind.name), func(b *testing.B) {
					benchRecv(b, kind.bundle, BufRingOptions{Entries: pool / size, Size: size, Incremental: kind.inc})
				})
			}
		}
	}
}

func benchRecv(b *testing.B, bundle bool, o BufRingOptions) {
	r := newRing(b, dataPath)
	g, err := r.NewBufRing(o)
	if err != nil {
		b.Skip(err)
	}
	rx := benchSender(b)
	r.GetSQE().RecvMultishot(rx, g.Group(), bundle, 1)
	got, ops := 0, 0
	b.ReportAllocs()
	report := meter(b)
	for ops < b.N {
		if _, err := r.SubmitAndWait(1, time.Second); err != nil {
			b.Fatal(err)
		}
		n := r.CQReady()
		for i := range n {
			c := r.CQEAt(i)
			for s := g.Spans(*c); s.Next(); {
				got += len(s.Bytes())
				s.Recycle()
			}
			if !c.More() {
				r.GetSQE().RecvMultishot(rx, g.Group(), bundle, 1)
			}
		}
		g.Advance()
		r.Advance(n)
		ops += n
	}
	report(got, ops)
}

// BenchmarkRead is what BenchmarkRecv is to be compared with: read(2) of 128 KiB.
func BenchmarkRead(b *testing.B) {
	rx := benchSender(b)
	m := newMemory(b, 128<<10)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	got := 0
	b.ReportAllocs()
	report := meter(b)
	for range b.N {
		n, err := unix.Read(rx, m.Bytes())
		if err != nil && err != unix.EINTR {
			b.Fatal(err)
		}
		got += max(n, 0)
	}
	report(got, b.N)
}

// benchSender gives the end of a connection that always has data, and puts the
// calling thread on core 1.
func benchSender(b *testing.B) int {
	tx, rx := tcpPair(b)
	m := newMemory(b, 128<<10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine, and its affinity too
		pin(0)
		for {
			if _, err := unix.Write(tx, m.Bytes()); err != nil && err != unix.EINTR {
				return
			}
		}
	}()
	var before unix.CPUSet
	runtime.LockOSThread()
	_ = unix.SchedGetaffinity(0, &before)
	pin(1)
	b.Cleanup(func() {
		_ = unix.Shutdown(tx, unix.SHUT_RDWR) // of the end that writes: it may be asleep there
		<-done
		_ = unix.SchedSetaffinity(0, &before)
		runtime.UnlockOSThread()
	})
	return rx
}

// pin puts this thread on one core, where there is such a core.
func pin(cpu int) {
	var s unix.CPUSet
	s.Set(cpu)
	_ = unix.SchedSetaffinity(0, &s)
}

// meter starts the clocks; what it returns stops and reports them.
func meter(b *testing.B) func(bytes, ops int) {
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &before)
	b.ResetTimer()
	return func(bytes, ops int) {
		b.StopTimer()
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &after)
		cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
		gb := float64(bytes) / 1e9
		b.ReportMetric(gb*8/b.Elapsed().Seconds(), "Gbit/s")
		b.ReportMetric(cpu.Seconds()/gb, "cpu-s/GB")
		b.ReportMetric(float64(bytes)/float64(ops)/1024, "KiB/op")
	}
}

// The hot path allocates nothing, also where benchmarks do not run.
func TestNoAllocations(t *testing.T) { eachEngine(t, testNoAllocations) }

func testNoAllocations(t *testing.T) {
	r := newRing(t, dataPath)
	g, err := r.NewBufRing(BufRingOptions{Entries: 64, Size: 4096})
	if err != nil {
		t.Skip(err)
	}
	tx, rx := tcpPair(t)
	m := newMemory(t, 64<<10)
	r.GetSQE().RecvMultishot(rx, g.Group(), true, 1)
	step := func() {
		r.GetSQE().Send(tx, m.Bytes(), unix.MSG_WAITALL, 2)
		r.PrepTimeout(r.GetSQE(), time.Hour, 1, 3)
		if _, err := r.SubmitAndGetEvents(); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < 64<<10; {
			if _, err := r.SubmitAndWait(1, time.Second); err != nil {
				t.Fatal(err)
			}
			n := r.CQReady()
			for i := range n {
				c := r.CQEAt(i)
				for s := g.Spans(*c); s.Next(); {
					got += len(s.Bytes())
					s.Recycle()
				}
				if c.UserData == 1 && !c.More() {
					r.GetSQE().RecvMultishot(rx, g.Group(), true, 1)
				}
			}
			g.Advance()
			r.Advance(n)
		}
	}
	if n := testing.AllocsPerRun(200, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
	// A wait in vain allocates nothing either.
	if n := testing.AllocsPerRun(20, func() {
		if _, err := r.SubmitAndWait(1, time.Microsecond); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations in a wait without completions", n)
	}
}
