// SPDX-License-Identifier: MIT

package bpf_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"golang.org/x/sys/unix"
)

// unnamed is a system call that no kernel has, of a number as later ones may have.
const unnamed = 500

// holdSignals keeps SIGURG, by which the runtime preempts, from the calling thread.
func holdSignals(t *testing.T) (release func()) {
	t.Helper()
	runtime.LockOSThread()
	var urgent, before unix.Sigset_t
	urgent.Val[0] = 1 << (unix.SIGURG - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &urgent, &before); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	}
}

func TestIntegrationSyscalls(t *testing.T) {
	needRoot(t)
	defer holdSignals(t)() // the runtime's would end a sleep early
	s, err := bpf.OpenSyscalls(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n, sleep = 50, 2 * time.Millisecond
	for range n {
		unix.Close(-1)
		unix.Syscall(unnamed, 0, 0, 0)
		ts := unix.NsecToTimespec(int64(sleep))
		unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
	}
	calls, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	// A program that is interrupted by one that makes calls on its CPU is left out there;
	// the kernel counts that, and each such run costs a call at most.
	missed := func() uint64 { return bpf.Probes{Syscalls: s}.Missed() }
	all := func(got, want uint64) bool { return got <= want && got+missed() >= want }
	seen := map[string]bpf.Call{}
	for _, c := range calls {
		t.Logf("%-16s %6d calls %4d errors, min %v avg %v max %v stddev %.2f %%", c.Name, c.Calls, c.Errors, c.Min,
			c.Mean(), c.Max, 100*c.Stddev())
		seen[c.Name] = c
	}
	if c := seen["clock_nanosleep"]; !all(c.Calls, n) || c.Errors != 0 || c.Min < sleep || c.Min > c.Mean() ||
		c.Mean() > c.Max {
		t.Errorf("%d sleeps of %v: %+v", n, sleep, c)
	}
	if c := seen[fmt.Sprintf("syscall_%d", unnamed)]; !all(c.Calls, n) || c.Errors != c.Calls {
		t.Errorf("%d calls of one without a name: %+v", n, c)
	}
	if c := seen["close"]; c.Errors+missed() < n || c.Calls < c.Errors {
		t.Errorf("%d calls of close that must fail: %+v", n, c)
	}
	// Between two readings the extremes are of what came then, also if somebody
	// peeped meanwhile.
	for _, d := range []time.Duration{4 * sleep, 3 * sleep} {
		ts := unix.NsecToTimespec(int64(d))
		unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
		if _, err := s.Peek(); err != nil {
			t.Fatal(err)
		}
	}
	later, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range bpf.SubCalls(later, calls) {
		if d.Name == "clock_nanosleep" && (!all(d.Calls, 2) || d.Min < 3*sleep || d.Calls == 2 && d.Max < 4*sleep ||
			d.Min > d.Max) {
			t.Errorf("two sleeps of %v and %v: %+v, %d runs left out", 4*sleep, 3*sleep, d, missed())
		}
	}
	calls = later
	if more, err := s.Read(); err != nil {
		t.Error(err)
	} else if d := bpf.SubCalls(more, calls); len(d) > 0 && d[0].Name == "clock_nanosleep" {
		t.Errorf("a sleep came from nowhere: %+v", d[0])
	}
}
