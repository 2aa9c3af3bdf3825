// SPDX-License-Identifier: MIT

package symbol

import (
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/firsttest"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/kallsyms"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/profile/perf/perftest"
	"golang.org/x/sys/unix"
)

// spin keeps a CPU busy in user space, and calls nothing.
//
//go:noinline
func spin(rounds int) {
	var x uint64
	for i := range rounds {
		x = x*6364136223846793005 + uint64(i)
	}
	runtime.KeepAlive(x)
}

// sampleHz makes enough samples of a second for shares to be right to a percent or so.
const sampleHz = 2999

// threadClock is how much CPU time this thread has used.
func threadClock(t *testing.T) int64 {
	ns, err := counter.ThreadClock(unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// sampled is the profile of this thread while it does something for so much CPU time, and how
// much that was by its own clock.
func sampled(t *testing.T, names *Namer, cpuNs int64, do func()) (*profile.Profile, float64) {
	t.Helper()
	cpus, err := counter.OnlineCPUs(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	s := sampler(t, perf.Options{CPUs: cpus, Threads: []int{unix.Gettid()}, Clock: true, Hz: sampleHz})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	from := threadClock(t)
	for threadClock(t) < from+cpuNs {
		do()
	}
	took := threadClock(t) - from
	r, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.FromRecording(r, 0, 0, names)
	if err != nil {
		t.Fatal(err)
	}
	return p, float64(took)
}

// namer names addresses, or the test is skipped where the kernel does not.
func namer(t *testing.T) *Namer {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("map_files needs root")
	}
	names, err := New()
	if errors.Is(err, kallsyms.ErrHidden) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// sampler is one until the test ends.
func sampler(t *testing.T, o perf.Options) *perf.Sampler {
	t.Helper()
	return perftest.Open(t, func() (*perf.Sampler, error) { return perf.Open(o) })
}

// A thread that burns CPU time in a function of its own is found there: the samples add up to its
// clock, which has the interrupts on top of it too, and what is not of interrupts is the
// application's, in that function.
func TestIntegrationBurntTime(t *testing.T) {
	kind.Timed(t)
	names := namer(t)
	firsttest.Thread(t)
	p, took := sampled(t, names, 400e6, func() { spin(10_000_000) })
	c := p.Costs(0)
	if c.BusyNs < .9*took || c.BusyNs > 1.1*took {
		t.Errorf("%.1f ms sampled of %.1f ms", c.BusyNs/1e6, took/1e6)
	}
	var thread, own, application float64
	for _, s := range p.Stacks {
		if s.Where != profile.Thread {
			continue
		}
		thread += float64(s.Weight)
		if s.Class == profile.Application {
			application += float64(s.Weight)
		}
		if len(s.Frames) > 0 && strings.HasSuffix(s.Frames[0].Name, "symbol.spin") {
			own += float64(s.Weight)
		}
	}
	if application < .95*thread || own < .95*thread { // the rest is of the runtime's signals, and of reading the clock
		t.Errorf("of %.1f ms of the thread %.1f are of class application, %.1f of the function that burnt them:\n%+v",
			thread/1e6, application/1e6, own/1e6, c.Functions)
	}
}

// touches reads every byte.
//
//go:noinline
func touches(b []byte) (sum uint64) {
	for _, x := range b {
		sum += uint64(x)
	}
	return sum
}

// datagrams are sockets with large datagrams in them, which another thread puts there.
type datagrams struct {
	fds          []int
	fill, filled chan struct{}
}

// So many sockets, that the time in which one thread waits for the other is little; as many
// datagrams as each takes before its sender waits (net.unix.max_dgram_qlen); and how large.
const (
	datagramSockets = 16
	datagramsAtOnce = 8
	datagramBytes   = 256 << 10
)

func newDatagrams(t *testing.T) *datagrams {
	t.Helper()
	d := &datagrams{fill: make(chan struct{}), filled: make(chan struct{})}
	var to []int
	for range datagramSockets {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
		if err := unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUFFORCE,
			4*datagramsAtOnce*datagramBytes); err != nil {
			t.Fatal(err)
		}
		to, d.fds = append(to, fds[0]), append(d.fds, fds[1])
	}
	go func() {
		defer close(d.filled)
		runtime.LockOSThread()
		b := make([]byte, datagramBytes)
		for range d.fill {
			for n := range datagramsAtOnce * datagramSockets {
				if _, err := unix.Write(to[n%datagramSockets], b); err != nil {
					t.Errorf("send a datagram: %v", err)
					return
				}
			}
			d.filled <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		close(d.fill)
		for range d.filled {
		}
	})
	return d
}

// take reads all datagrams into b, as much of each as it has room for, and says how much CPU time
// that took.
func (d *datagrams) take(t *testing.T, b []byte) int64 {
	d.fill <- struct{}{}
	if _, ok := <-d.filled; !ok {
		t.FailNow()
	}
	from := threadClock(t)
	for n := range datagramsAtOnce * datagramSockets {
		if n, errno := sock.Recv(d.fds[n%datagramSockets], b, 0); n != len(b) || errno != 0 {
			t.Fatalf("%d bytes, %v", n, errno)
		}
	}
	return threadClock(t) - from
}

// known is what a class has of a profile, and what was burnt in it, ns of CPU time; irqs is time in
// interrupts, which is in the thread's clock and in no class of its own: how much of it came while
// which work was done nobody knows.
type known struct{ got, burnt, irqs float64 }

// off is by how much of the work the class is wrong, beyond what interrupts explain.
func (k known) off() float64 {
	switch {
	case k.got > k.burnt:
		return k.got/k.burnt - 1
	case k.got < k.burnt-k.irqs:
		return k.got/(k.burnt-k.irqs) - 1
	}
	return 0
}

// knownWork profiles a loop that copies, which is what taking a datagram costs more than taking its
// first byte, and a reader that touches what was copied.
func knownWork(t *testing.T, names *Namer, d *datagrams, b []byte) map[profile.Class]known {
	var copied, touched int64
	p, took := sampled(t, names, 800e6, func() {
		copied += d.take(t, b) - d.take(t, b[:1])
		from := threadClock(t)
		for range 24 {
			touches(b)
		}
		touched += threadClock(t) - from
	})
	var thread, all float64
	got := map[profile.Class]float64{}
	for _, k := range p.Stacks {
		all += float64(k.Weight)
		if k.Where != profile.Thread {
			continue
		}
		thread += float64(k.Weight)
		// The test's own loops are of class application, too.
		if k.Class != profile.Application || len(k.Frames) > 0 && strings.HasSuffix(k.Frames[0].Name,
			"symbol.touches") {
			got[k.Class] += float64(k.Weight)
		}
	}
	of := map[profile.Class]known{}
	for class, burnt := range map[profile.Class]int64{profile.Copy: copied, profile.Application: touched} {
		if burnt < int64(took/10) {
			t.Fatalf("class %s: %.1f ms of %.1f were burnt, too little to be found", class, float64(burnt)/1e6,
				took/1e6)
		}
		of[class] = known{got: got[class] * took / all, burnt: float64(burnt), irqs: took * (1 - thread/all)}
	}
	return of
}

// Known work is in its class, within 5 % of the time that was burnt. One profile has some 600
// samples of each, and what copying costs is a difference of two clocks: the median of seven is
// judged.
func TestIntegrationKnownWork(t *testing.T) {
	kind.Timed(t)
	names := namer(t)
	d, b := newDatagrams(t), make([]byte, datagramBytes)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	off := map[profile.Class][]float64{}
	for range 7 {
		for class, k := range knownWork(t, names, d, b) {
			off[class] = append(off[class], k.off())
			t.Logf("%s: %.1f ms, burnt %.1f ms, interrupts had %.1f", class, k.got/1e6, k.burnt/1e6, k.irqs/1e6)
		}
	}
	for class, o := range off {
		slices.Sort(o)
		if m := o[len(o)/2]; math.Abs(m) > .05 {
			t.Errorf("class %s is off by %+.1f %% (all: %+.3f)", class, 100*m, o)
		}
	}
}
