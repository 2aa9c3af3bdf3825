// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/asleep"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

// variants are the rings that each behaviour must hold on.
var variants = map[string]Options{
	"plain": {SQEntries: 8},
	"coop":  {SQEntries: 8, CoopTaskrun: true, SubmitAll: true},
	"deferred": {SQEntries: 8, SingleIssuer: true, DeferTaskrun: true, RegisterFD: true, NoSQArray: true,
		SubmitAll: true},
	"cqe32": {SQEntries: 8, SingleIssuer: true, DeferTaskrun: true, CQE32: true},
}

func eachVariant(t *testing.T, f func(*testing.T, *Ring)) {
	for name, o := range variants {
		t.Run(name, func(t *testing.T) { f(t, newRing(t, o)) })
	}
}

// take waits for the next completion and returns it.
func take(t testing.TB, r *Ring) CQE {
	t.Helper()
	if _, err := r.SubmitAndWait(1, await.Hang); err != nil {
		t.Fatal(err)
	}
	c, ok := r.PeekCQE()
	if !ok {
		t.Fatal("no completion")
	}
	r.Advance(1)
	return c
}

func TestNopRoundTrips(t *testing.T) { eachEngine(t, testNopRoundTrips) }

func testNopRoundTrips(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		for round := uint64(0); round < 100; round++ { // runs around both queues
			for i := range uint64(5) {
				r.GetSQE().Nop(round*10 + i)
			}
			if n, err := r.SubmitAndGetEvents(); n != 5 || err != nil {
				t.Fatalf("submitted %d: %v", n, err)
			}
			if r.CQReady() != 5 {
				t.Fatalf("%d completions of 5", r.CQReady())
			}
			for i := range 5 {
				c := r.CQEAt(i)
				if c.UserData != round*10+uint64(i) || c.Res != 0 || c.More() || c.HasBuffer() {
					t.Fatalf("round %d, completion %d: %+v", round, i, *c)
				}
			}
			r.Advance(5)
		}
		if r.Overflow() != 0 || r.Dropped() != 0 || r.Enters() != 100 || r.Sleeps() != 0 {
			t.Errorf("overflow %d, dropped %d, enters %d, sleeps %d", r.Overflow(), r.Dropped(), r.Enters(), r.Sleeps())
		}
	})
}

func TestSubmitWithoutEntries(t *testing.T) { eachEngine(t, testSubmitWithoutEntries) }

func testSubmitWithoutEntries(t *testing.T) {
	r := newRing(t, Options{SQEntries: 4})
	if n, err := r.Submit(); n != 0 || err != nil || r.Enters() != 0 {
		t.Errorf("submitted %d, %v, in %d calls", n, err, r.Enters())
	}
	if _, ok := r.PeekCQE(); ok {
		t.Error("a completion of nothing")
	}
}

func TestFullSQ(t *testing.T) { eachEngine(t, testFullSQ) }

func testFullSQ(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		for i := range r.SQEntries() {
			if r.SQSpace() != r.SQEntries()-i {
				t.Fatalf("space %d after %d entries", r.SQSpace(), i)
			}
			r.GetSQE().Nop(uint64(i))
		}
		for range 2 { // also when asked again
			if r.GetSQE() != nil {
				t.Fatal("an entry from a full queue")
			}
		}
		if n, err := r.Submit(); n != r.SQEntries() || err != nil {
			t.Fatalf("submitted %d: %v", n, err)
		}
		if r.GetSQE() == nil {
			t.Fatal("no entry after a submit")
		}
	})
}

// Twice as many completions as there is room for: none is lost.
func TestCQOverflow(t *testing.T) { eachEngine(t, testCQOverflow) }

func testCQOverflow(t *testing.T) {
	r := newRing(t, Options{SQEntries: 4, CQEntries: 4})
	const total = 12
	for i := range uint64(total) {
		s := r.GetSQE()
		if s == nil {
			t.Fatal("queue full")
		}
		s.Nop(i)
		if _, err := r.Submit(); err != nil {
			t.Fatal(err)
		}
	}
	if r.CQReady() != 4 || !r.Overflowed() {
		t.Fatalf("%d completions ready, overflowed %v", r.CQReady(), r.Overflowed())
	}
	for want := uint64(0); want < total; {
		n := r.CQReady()
		for i := range n {
			if u := r.CQEAt(i).UserData; u != want {
				t.Fatalf("completion %d, want %d", u, want)
			}
			want++
		}
		r.Advance(n)
		if _, err := r.SubmitAndGetEvents(); err != nil {
			t.Fatal(err)
		}
		if n == 0 && r.CQReady() == 0 && want < total {
			t.Fatalf("lost all from %d on", want)
		}
	}
	if r.Overflow() != 0 || r.Overflowed() || r.Backlogs() == 0 {
		t.Errorf("lost %d, overflowed %v, backlogs %d", r.Overflow(), r.Overflowed(), r.Backlogs())
	}
}

func TestWaitTimeout(t *testing.T) { eachEngine(t, testWaitTimeout) }

func testWaitTimeout(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		n, err := r.SubmitAndWait(1, 30*time.Millisecond)
		if n != 0 || err != nil || r.CQReady() != 0 {
			t.Fatalf("submitted %d, %v, %d ready", n, err, r.CQReady())
		}
		if r.Sleeps() == 0 { // more than one: the runtime's signals
			t.Error("no sleep counted")
		}
		r.GetSQE().Nop(1) // fewer completions than waited for
		if n, err = r.SubmitAndWait(2, time.Millisecond); n != 1 || err != nil || r.CQReady() != 1 {
			t.Errorf("submitted %d, %v, %d ready", n, err, r.CQReady())
		}
	})
}

// A wait that gathers ends in any case: with what came, or with its time.
func TestGather(t *testing.T) { eachEngine(t, testGather) }

func testGather(t *testing.T) {
	way := oneWay(t)
	b := make([]byte, 1)
	eachVariant(t, func(t *testing.T, r *Ring) {
		tid := unix.Gettid()
		// What is there when its time is over ends it.
		await.Later(0, func() {
			asleep.In(t, tid, unix.SYS_IO_URING_ENTER)
			_, _ = unix.Write(way[1], []byte{1})
		})
		hangs := await.Context(t)
		r.GetSQE().Recv(way[0], b, 0, 2)
		if _, err := r.SubmitAndGather(30*time.Millisecond, 2*await.Hang); err != nil || r.CQReady() != 1 ||
			hangs.Err() != nil {
			t.Errorf("%v, %d ready, want 1 (%v)", err, r.CQReady(), hangs.Err())
		}
		r.Advance(r.CQReady())

		// With nothing there in time, the first one ends the wait.
		r.GetSQE().Recv(way[0], b, 0, 3)
		await.Later(20*time.Millisecond, func() { _, _ = unix.Write(way[1], []byte{1}) })
		if _, err := r.SubmitAndGather(time.Millisecond, await.Hang); err != nil || r.CQReady() != 1 {
			t.Errorf("%v, %d ready, want 1", err, r.CQReady())
		}
		r.Advance(r.CQReady())
		if _, err := r.SubmitAndGather(time.Millisecond, 20*time.Millisecond); err != nil || r.CQReady() != 0 {
			t.Errorf("%v, %d ready after the timeout, want 0", err, r.CQReady())
		}
	})
}

// A wait that gathers brings what comes later too. A signal ends it with the first alone, and the
// runtime sends one to a thread that has been running for 10 ms: to less than half of these.
func TestGatherBringsBoth(t *testing.T) {
	kind.Timed(t)
	eachEngine(t, testGatherBringsBoth)
}

func testGatherBringsBoth(t *testing.T) {
	const rounds, apart = 10, 2 * time.Millisecond
	ways := [2][2]int{oneWay(t), oneWay(t)}
	bufs := make([]byte, 2)
	eachVariant(t, func(t *testing.T, r *Ring) {
		both := 0
		for range rounds {
			for i := range ways {
				r.GetSQE().Recv(ways[i][0], bufs[i:i+1], 0, uint64(i))
			}
			go func() {
				for _, w := range ways {
					time.Sleep(apart)
					_, _ = unix.Write(w[1], []byte{1})
				}
			}()
			if n, err := r.SubmitAndGather(10*apart, await.Hang); n != 2 || err != nil || r.CQReady() == 0 {
				t.Fatalf("submitted %d, %v, %d ready", n, err, r.CQReady())
			}
			if r.CQReady() == 2 {
				both++
			}
			take(t, r)
			take(t, r)
		}
		if r.Gathers() && both < rounds/2 {
			t.Errorf("%d of %d waits brought both completions", both, rounds)
		}
	})
}

// oneWay is a connection that the test closes: what is written to the second is read from the
// first.
func oneWay(t testing.TB) [2]int {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Close(ends[0])
		_ = unix.Close(ends[1])
	})
	return ends
}

// Signals do not cut a wait short: it ends with what it waits for.
func TestWaitSignals(t *testing.T) { eachEngine(t, testWaitSignals) }

func testWaitSignals(t *testing.T) {
	for name, submit := range map[string]int{"nothing submitted": 0, "behind a submission": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRing(t, Options{SQEntries: 4})
			a, b := tcpPair(t)
			r.GetSQE().PollAdd(b, unix.POLLIN, 7)
			if submit == 0 {
				if _, err := r.Submit(); err != nil {
					t.Fatal(err)
				}
			}
			const signals = 20
			tid, done := unix.Gettid(), make(chan struct{})
			go func() {
				defer close(done)
				slept := asleep.In(t, tid, unix.SYS_IO_URING_ENTER)
				for range signals {
					_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGURG)
					slept = asleep.Again(t, tid, unix.SYS_IO_URING_ENTER, slept)
				}
				_, _ = unix.Write(a, []byte{1})
			}()
			if n, err := r.SubmitAndWait(1, await.Hang); err != nil || n != submit || r.CQReady() != 1 {
				t.Errorf("submitted %d: %v, %d ready", n, err, r.CQReady())
			}
			<-done
			// Not one more than signals: it may sleep in the call for another reason, which
			// looks the same from outside.
			if r.Sleeps() <= signals/2 {
				t.Errorf("%d signals, and it slept %d times", signals, r.Sleeps())
			}
		})
	}
}

// A wait in vain is no shorter than it was asked for, and not much longer. Signals do not end it
// before its time.
func TestWaitsAreNotShort(t *testing.T) {
	kind.Timed(t)
	eachEngine(t, testWaitsAreNotShort)
}

func testWaitsAreNotShort(t *testing.T) {
	const limit = 30 * time.Millisecond
	eachVariant(t, func(t *testing.T, r *Ring) {
		for _, signals := range []bool{false, true} {
			tid, ended, done := unix.Gettid(), make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				tick := time.NewTicker(limit / 10)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						if signals {
							_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGURG)
						}
					case <-ended:
						return
					}
				}
			}()
			start := time.Now()
			_, err := r.SubmitAndWait(1, limit)
			if took := time.Since(start); err != nil || r.CQReady() != 0 || took < limit || took > 5*time.Second {
				t.Errorf("signals %v: woken after %v: %v, %d ready", signals, took, err, r.CQReady())
			}
			close(ended)
			<-done
		}
	})
}

func TestTimeoutRequest(t *testing.T) { eachEngine(t, testTimeoutRequest) }

func testTimeoutRequest(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		r.PrepTimeout(r.GetSQE(), time.Hour, 0, 1)
		r.PrepTimeout(r.GetSQE(), 10*time.Millisecond, 0, 2)
		if c := take(t, r); c.UserData != 2 || c.Errno() != unix.ETIME {
			t.Errorf("completion %+v", c)
		}
	})
}

func TestPoll(t *testing.T) { eachEngine(t, testPoll) }

func testPoll(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		a, b := tcpPair(t)
		r.GetSQE().PollAdd(b, unix.POLLIN, 7)
		if _, err := r.SubmitAndGetEvents(); err != nil || r.CQReady() != 0 {
			t.Fatalf("%d completions, %v", r.CQReady(), err)
		}
		if _, err := unix.Write(a, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if c := take(t, r); c.UserData != 7 || c.Res&unix.POLLIN == 0 {
			t.Errorf("completion %+v", c)
		}
	})
}

// One request takes several connections, and goes on.
func TestAccept(t *testing.T) { eachEngine(t, testAccept) }

func testAccept(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r.GetSQE().AcceptMultishot(int(f.Fd()), 7)
		for i := range 3 {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			got := take(t, r)
			if got.UserData != 7 || got.Res < 0 || !got.More() {
				t.Fatalf("connection %d: %+v", i, got)
			}
			if err := unix.Close(int(got.Res)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCancel(t *testing.T) { eachEngine(t, testCancel) }

func testCancel(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		_, b := tcpPair(t)
		r.GetSQE().PollAdd(b, unix.POLLIN, 7)
		r.GetSQE().PollAdd(b, unix.POLLIN, 8)
		r.GetSQE().Cancel(7, 9)
		got := map[uint64]CQE{}
		for range 2 {
			c := take(t, r)
			got[c.UserData] = c
		}
		if got[7].Errno() != unix.ECANCELED || got[9].Res != 1 {
			t.Errorf("completions %+v", got)
		}
		r.GetSQE().CancelFD(b, 10)
		for range 2 {
			c := take(t, r)
			got[c.UserData] = c
		}
		if got[8].Errno() != unix.ECANCELED || got[10].Res != 1 {
			t.Errorf("completions %+v", got)
		}
		r.GetSQE().Cancel(7, 11)
		if c := take(t, r); c.UserData != 11 || c.Res != 0 {
			t.Errorf("cancelling nothing: %+v", c)
		}
	})
}

// An entry holds nothing of the request before.
func TestNoStaleFields(t *testing.T) {
	dirty := sqe{Opcode: 255, Flags: 255, Ioprio: 0xffff, FD: -9, Off: ^uint64(0), Addr: ^uint64(0), Len: ^uint32(0),
		OpFlags:  ^uint32(0),
		UserData: ^uint64(0), BufIndex: 0xffff, Personality: 0xffff, FileIndex: ^uint32(0), Addr3: ^uint64(0),
		Pad: ^uint64(0)}
	for name, prep := range map[string]func(*sqe){
		"nop":    func(s *sqe) { s.Nop(1) },
		"recv":   func(s *sqe) { s.Recv(3, nil, 0, 1) },
		"multi":  func(s *sqe) { s.RecvMultishot(3, 4, true, 1) },
		"msg":    func(s *sqe) { s.RecvMsgMultishot(3, nil, 4, 1) },
		"send":   func(s *sqe) { s.Send(3, nil, 0, 1) },
		"sendzc": func(s *sqe) { s.SendZC(3, nil, 0, true, 1) },
		"fixed":  func(s *sqe) { s.SendZCFixed(3, 2, nil, 0, true, 1) },
		"poll":   func(s *sqe) { s.PollAdd(3, 1, 1) },
		"cancel": func(s *sqe) { s.Cancel(3, 1) },
		"fd":     func(s *sqe) { s.CancelFD(3, 1) },
		"accept": func(s *sqe) { s.AcceptMultishot(3, 1) },
		"recvzc": func(s *sqe) { s.RecvZCUpTo(3, 1, 4096, 1) },
	} {
		old, fresh := dirty, sqe{}
		prep(&old)
		prep(&fresh)
		if old != fresh {
			t.Errorf("%s: %+v over a used entry, %+v over a fresh one", name, old, fresh)
		}
	}
}

func TestWrongThread(t *testing.T) { eachEngine(t, testWrongThread) }

func testWrongThread(t *testing.T) {
	r := newRing(t, Options{SQEntries: 4, SingleIssuer: true})
	r.GetSQE().Nop(1)
	var err error
	onDoomedThread(func() { _, err = r.Submit() })
	if !errors.Is(err, unix.EEXIST) || !strings.Contains(told(err), "LockOSThread") {
		t.Errorf("error %v", err)
	}
}

// A disabled ring is made here, and enabled, used and closed by another thread.
func TestEnable(t *testing.T) { eachEngine(t, testEnable) }

func testEnable(t *testing.T) {
	r, err := open(Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, RegisterFD: true, Disabled: true})
	if err != nil {
		t.Fatal(err)
	}
	r.GetSQE().Nop(5)
	if _, err = r.Submit(); !errors.Is(err, unix.EBADFD) || !strings.Contains(told(err), "Enable") {
		t.Errorf("submit before enabling: %v", err)
	}
	onDoomedThread(func() {
		if err = r.Enable(); err != nil {
			return
		}
		if _, err = r.SubmitAndWait(1, await.Hang); err != nil {
			return
		}
		if c, ok := r.PeekCQE(); !ok || c.UserData != 5 {
			err = errors.New("no completion")
		}
		if again := r.Enable(); !errors.Is(again, unix.EBADFD) {
			err = errors.Join(err, again, errors.New("enabled twice"))
		}
		err = errors.Join(err, r.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCloseElsewhere(t *testing.T) { eachEngine(t, testCloseElsewhere) }

func testCloseElsewhere(t *testing.T) {
	fds := openFDs(t)
	var err error
	onDoomedThread(func() {
		var r *Ring
		if r, err = open(Options{SQEntries: 4, SingleIssuer: true, RegisterFD: true}); err != nil {
			return
		}
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			done <- r.Close()
		}()
		err = <-done
	})
	if err == nil || !strings.Contains(told(err), "another thread") {
		t.Errorf("error %v", err)
	}
	if n := openFDs(t); n != fds {
		t.Errorf("descriptors: %d before, %d after", fds, n)
	}
}

func TestClosed(t *testing.T) { eachEngine(t, testClosed) }

func testClosed(t *testing.T) {
	r, err := open(Options{SQEntries: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err = r.Close(); err != nil {
		t.Fatal(err)
	}
	_, e1 := r.Submit()
	_, e2 := r.SubmitAndGetEvents()
	_, e3 := r.SubmitAndWait(1, -1)
	_, e4 := r.NewBufRing(BufRingOptions{Entries: 1, Size: 1})
	for i, err := range []error{e1, e2, e3, e4, r.Enable(), r.RegisterBuffers(nil), r.RegisterFiles(nil),
		r.UpdateFile(0, -1)} {
		if !errors.Is(err, errClosed) {
			t.Errorf("call %d on a closed ring: %v", i, err)
		}
	}
	if r.Overflow() != 0 || r.Dropped() != 0 {
		t.Error("counters of a closed ring")
	}
}

// tcpPair is a TCP connection over loopback that the test closes.
func tcpPair(t testing.TB) (int, int) {
	t.Helper()
	a, b, err := loopback()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Close(a)
		_ = unix.Close(b)
	})
	return a, b
}
