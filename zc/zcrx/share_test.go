// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/held"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// What the kernel counted as copied is booked once, by whichever ring, and never more than that.
func TestClaimedOnce(t *testing.T) {
	const counted, rings = 1 << 20, 4
	b := make(board, boardBytes/8)
	var got atomic.Uint64
	var wg sync.WaitGroup
	for range rings {
		wg.Go(func() {
			for n := uint64(1); n > 0; {
				n = b.claim(counted, 100)
				got.Add(n)
			}
		})
	}
	if wg.Wait(); got.Load() != counted || b.claim(counted-1, 100) != 0 || b.claim(counted+1, 100) != 1 {
		t.Errorf("%d of %d were booked", got.Load(), counted)
	}
}

// ringsOf are the receivers of rings that share a queue, of so many flows each.
func ringsOf(flows ...int) (all []*Receiver) {
	s := &share{n: len(flows), board: make(board, boardBytes/8)}
	for i, n := range flows {
		r, _ := several(n)
		r.share, r.held = s, new(held.Queue)
		r.opt.NIC.Ring = i
		all = append(all, r)
	}
	return all
}

// Copies are those of the ring whose flow came elsewhere, whichever ring looks first.
func TestCopiesOfRings(t *testing.T) {
	rings := ringsOf(1, 2)
	bring := func(i int, counted uint64, got ...int) {
		r := rings[i]
		r.proof.seen = counted
		for n, m := range r.members {
			m.got = got[n]
		}
		r.sortAll(r.members[0].meter, true)
		r.onBoard()
	}
	rings[1].members[1].elsewhere = true
	rings[1].seenElsewhere(1)
	bring(0, 500, 1000)
	bring(1, 500, 1000, 600)
	bring(0, 600, 1000) // 100 more, of the other's
	bring(1, 600, 1000, 100)
	for i, want := range [][]uint64{{0}, {0, 600}} {
		for n, m := range rings[i].members {
			if m.copied != want[n] {
				t.Errorf("ring %d, flow %d: %d copied, not %d", i, n, m.copied, want[n])
			}
		}
	}
	b := rings[0].share.board
	if taken, copied := b.sum(ringTaken, 2), b.sum(ringCopied, 2); taken != 4700 || copied != 600 {
		t.Errorf("on the board: %d taken, %d copied", taken, copied)
	}
	rings[1].pool.unseen, rings[0].pool.unseen = 410, 410
	sum := rings[0].unseenOf(rings[0].members[0])
	for _, m := range rings[1].members {
		sum += rings[1].unseenOf(m)
	}
	if first := rings[0].unseenOf(rings[0].members[0]); sum != 410 || first != 200 {
		t.Errorf("%d bytes that were not counted are %d of all flows', %d of the first ring's", 410, sum, first)
	}
}

// Who waits at the bell is woken by another process, which has the board at another address, and by
// what it waits for alone.
func TestBell(t *testing.T) {
	mem, fd, err := uring.NewSharedMemory(boardBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	defer unix.Close(fd)
	other, err := uring.MapShared(fd, boardBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	here, there := board(mem.Words()), board(other.Words())
	s, ended := &share{n: 2, board: here}, make(chan bool)
	looked := make(chan struct{}, 100)
	go func() {
		ended <- here.until(time.Hour, func() bool {
			looked <- struct{}{}
			return here.sum(ringEnded, 2) == 2
		})
	}()
	for ring := range 2 {
		<-looked
		there.end(ring)
	}
	select {
	case is := <-ended:
		if !is || !s.awaitAll() {
			t.Errorf("both rings have ended: %v", is)
		}
	case <-await.Timeout():
		t.Fatal("nothing woke it")
	}
	if here.until(0, func() bool { return false }) {
		t.Error("it says that there is what there is not")
	}
}

// A ring that ends gives back all that it has gathered, also where the refill ring has no room for
// it and no NIC takes what is there.
func TestGiveBackAll(t *testing.T) {
	all := uring.Probe()
	for _, f := range []uring.Feature{all.ZcrxNoDevice, all.ZcrxFlush, all.ZcrxImport} {
		if !f.Supported {
			t.Skipf("%s: %s; %s", f.Name, f.Reason, f.Fix)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ring, err := uring.NewBest(uring.Options{SQEntries: 8, CQEntries: 64, SingleIssuer: true, DeferTaskrun: true,
		CQE32: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	const pages, entries, pieces = 64, 8, 200
	mem, err := uring.NewMemory(pages*os.Getpagesize(), uring.PagesBase)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	z, err := ring.NewZcrx(uring.ZcrxOptions{NoDevice: true, Area: uring.ZcrxArea{Bytes: mem.Bytes()},
		RefillEntries: entries, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	r, m := &Receiver{ring: ring, z: z, flushes: true}, new(stream.Meter)
	for range pieces { // the kernel passes over buffers that nobody has
		if !z.Refill(0, 1) {
			t.Fatalf("%d pieces are gathered, of %d", z.Unposted(), pieces)
		}
	}
	if z.Publish(); z.Unposted() != pieces-entries {
		t.Fatalf("%d wait for room", z.Unposted())
	}
	if r.giveBackAll(m); z.Unposted() != 0 || r.stats.flushes != (pieces-1)/entries {
		t.Errorf("%d wait for room, after %d flushes", z.Unposted(), r.stats.flushes)
	}
}

// Who starves is told which rings hold buffers.
func TestOthersHold(t *testing.T) {
	rings := ringsOf(1, 1, 1)
	for i, r := range rings {
		r.held.Push(0, uint32(1000*i))
		r.onBoard()
	}
	if got := rings[1].othersHold(); got != "ring 2 holds 2000 bytes" {
		t.Errorf("%q", got)
	}
	if got := rings[0].othersHold(); got != "ring 1 holds 1000 bytes, ring 2 holds 2000 bytes" {
		t.Errorf("%q", got)
	}
}

// A ring whose senders are silent does not starve while the others take payload, whatever the NIC
// lacked meanwhile; it wants for buffers when none of them takes any.
func TestSilentRing(t *testing.T) {
	rings := ringsOf(1, 1)
	b, r := rings[0].share.board, rings[1]
	var err error
	if r.queue, err = nicqueue.Look(Mode, "lo", 0, nil); err != nil {
		t.Fatal(err)
	}
	defer r.queue.Release()
	c := &stream.Conn{}
	if err := r.idleTick(c); err != nil {
		t.Fatal(err)
	}
	longAgo := time.Now().Add(-time.Hour)
	r.idle.since = longAgo
	atomic.AddUint64(b.of(0, ringTaken), 1<<30)
	atomic.AddUint64(&b[allocFails], 1)
	if err := r.idleTick(c); err != nil || r.idle.since.Equal(longAgo) || r.wanted() {
		t.Errorf("the first ring took payload: %v, idle since %v", err, r.idle.since)
	}
	atomic.AddUint64(&b[allocFails], 1)
	if r.othersTake() || !r.wanted() {
		t.Error("nobody takes any, and the NIC found no buffer: it does not want for one")
	}
}

// An error of a ring's process is the same error here: whose flow, which call, what to do.
func TestWordsOfErrors(t *testing.T) {
	for _, err := range []error{
		&fault.Unsupported{Mode: "zcrx", Op: "import", Err: unix.EINVAL, How: "a later kernel"},
		&fault.Error{Op: "starved", How: "hold less"},
		&fault.Error{Op: "recv_zc", Err: unix.ECONNRESET, How: "look there"},
		stream.OfFlow(3, &fault.Error{Op: "recv_zc", Err: unix.EFAULT, How: "x"}),
		errors.New("something else"),
	} {
		var w words
		w.told(err)
		got := w.err()
		var errno unix.Errno
		if fault.Fix(got) != fault.Fix(err) || errors.As(err, &errno) && !errors.Is(got, errno) ||
			!strings.Contains(err.Error(), strings.TrimSuffix(got.Error(), ": unsupported operation")) {
			t.Errorf("%v became %v", err, got)
		}
		var of *stream.FlowError
		if errors.As(err, &of) && w.Flow != of.N {
			t.Errorf("%v is of flow %d", err, w.Flow)
		}
	}
	if err := (&words{}).err(); err != nil {
		t.Error(err)
	}
}

// A ring's process says why it cannot have the queue; one that was killed is told of; neither is
// left.
func TestRingProcess(t *testing.T) {
	start := func() (*Receiver, error) {
		r := &Receiver{mode: Mode, opt: stream.Options{NIC: stream.NICQueue{Rings: &stream.Rings{N: 2, Processes: true},
			Ring: 1}}}
		a, err := newSharedArea(1 << 16)
		if err != nil {
			t.Fatal(err)
		}
		s := &share{n: 2, area: a, areaFD: a.fd, queue: nil}
		if s.mem, s.memFD, err = uring.NewSharedMemory(boardBytes); err != nil {
			t.Fatal(err)
		}
		null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(null); unix.Close(s.memFD); s.mem.Close(); a.Close() })
		s.z = uring.ZcrxShare{FD: null, RegionFD: s.memFD, Bytes: boardBytes, Entries: 8, Start: 1 << 16, Size: 1 << 16}
		r.share = s
		return r, r.startProcess("no-such-dev", 3, nil)
	}
	r, err := start()
	if err == nil || !strings.Contains(err.Error(), "no-such-dev") {
		t.Errorf("%v", err)
	}
	if err := r.process.close(); err != nil || r.process.cmd.ProcessState == nil {
		t.Errorf("it was not waited for: %v", err)
	}
	if r, _ = start(); r.process == nil {
		t.Fatal("no process")
	}
	if err := r.process.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.process.ask(&words{Ask: true}); err == nil || !strings.Contains(err.Error(), "signal: killed") ||
		fault.Fix(err) == "" {
		t.Errorf("%v", err)
	}
	if err := r.process.close(); err != nil {
		t.Error(err)
	}
}

func FuzzRingWords(f *testing.F) {
	f.Add([]byte(`{"Mode":"zcrx","Rings":2}`))
	f.Add([]byte(`{"Op":"x","Errno":22,"Refused":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Skip(err)
		}
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		if len(b) == 0 || unix.Send(pair[0], b, 0) != nil {
			return
		}
		var w words
		if fds, err := receive(pair[1], &w); err == nil && len(fds) == 0 {
			_ = w.err()
		}
	})
}
