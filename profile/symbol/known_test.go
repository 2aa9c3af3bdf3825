// SPDX-License-Identifier: MIT

package symbol

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/kallsyms"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"golang.org/x/sys/unix"
)

// spin keeps a CPU busy in user space, and calls nothing.
//
//go:noinline
func spin(rounds int) (x uint64) {
	for i := range rounds {
		x = x*6364136223846793005 + uint64(i)
	}
	return x
}

// sampled is the profile of this thread while it does something for so much CPU time, and how
// much that was by its own clock.
func sampled(t *testing.T, cpuNs int64, do func()) (*profile.Profile, float64) {
	t.Helper()
	names, err := New()
	if errors.Is(err, kallsyms.ErrHidden) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := counter.OnlineCPUs(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := perf.Open(perf.Options{CPUs: cpus, Threads: []int{unix.Gettid()}, Clock: true})
	for _, e := range []unix.Errno{unix.EACCES, unix.EPERM, unix.ENOSYS} {
		if errors.Is(err, e) {
			t.Skip(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clock := func() int64 {
		ns, err := counter.ThreadClock(unix.Gettid())
		if err != nil {
			t.Fatal(err)
		}
		return ns
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	from := clock()
	for clock() < from+cpuNs {
		do()
	}
	took := clock() - from
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

// A thread that burns CPU time in a function of its own is found there: the samples add up to its
// clock, which has the interrupts on top of it too, and what is not of interrupts is the
// application's, in that function.
func TestIntegrationBurntTime(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("map_files needs root")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, took := sampled(t, 400e6, func() { spin(1_000_000) })
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
	if application < .9*thread || own < .9*thread { // the rest is of being preempted, and of reading the clock
		t.Errorf("of %.1f ms of the thread %.1f are of class application, %.1f of the function that burnt them:\n%+v", thread/1e6, application/1e6, own/1e6, c.Functions)
	}
}

// Bytes that pass a socket are copied twice: the classes know it, and little has none.
func TestIntegrationCopies(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("map_files needs root")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	buf := make([]byte, 64<<10)
	p, _ := sampled(t, 400e6, func() {
		n, err := unix.Write(fds[0], buf)
		for err == nil && n > 0 {
			var got int
			got, err = unix.Read(fds[1], buf)
			n -= got
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	c := p.Costs(0)
	by := map[profile.Class]float64{}
	for _, k := range c.Classes {
		by[k.Class] = k.Ns / c.BusyNs
	}
	if by[profile.Copy] < .1 {
		t.Errorf("%v\n%+v", by, c.Functions)
	}
	t.Logf("%v", by)
}
