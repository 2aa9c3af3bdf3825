// SPDX-License-Identifier: MIT

package counter

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/asleep"
	"github.com/zcbench/zcbench/machine/measure"
)

func TestReadThreads(t *testing.T) {
	before, err := readThreads(fixture(t, "before"), 4711)
	if err != nil {
		t.Fatal(err)
	}
	want := []ThreadTimes{{PID: 4711, TID: 4711, Name: "a (b) c", RunNs: 1505000000, WaitNs: 75272, Timeslices: 20,
		HasWait: true,
		UserNs:  1e9, SysNs: 5e8, LastCPU: 0, Pinned: -1, Voluntary: 30, Involuntary: 4}}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	after, err := readThreads(fixture(t, "after"), 4711)
	if err != nil {
		t.Fatal(err)
	}
	// The second thread is new, and its kernel has no schedstat.
	deltas := []ThreadDelta{
		{PID: 4711, TID: 4711, Name: "a (b) c", RunNs: 1e9, UserNs: 5e8, SysNs: 5e8, WaitNs: 20000, Timeslices: 20,
			HasWait: true, Voluntary: 20, Involuntary: 1, CPU: -1},
		{PID: 4711, TID: 4712, Name: "worker", RunNs: 5e7, UserNs: 3e7, SysNs: 2e7, Voluntary: 1, CPU: -1, New: true},
	}
	if diff := cmp.Diff(deltas, threadsBetween(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := readThreads(fixture(t, "before"), 1); err == nil {
		t.Error("a process that is not there did not fail")
	}
	// What a kernel without it does not know is no row of 0.
	for i, want := range []bool{true, false} {
		var r rows
		r.thread("t", deltas[i], 1)
		if got := slices.ContainsFunc(r.out,
			func(m measure.Metric) bool { return m.Name == "t_wait_cores" }); got != want {
			t.Errorf("thread %d: waiting time in the rows: %v, want %v", i, got, want)
		}
	}
}

// startWorker starts a thread that is pinned to one CPU and sleeps until the test ends. burn has it
// use so much CPU time, and returns when it sleeps again. So what counts its time agrees to the
// nanosecond, whoever else runs.
func startWorker(t *testing.T, cpu int) (tid int, burn func(d time.Duration)) {
	t.Helper()
	ready, work, done := make(chan int), make(chan time.Duration), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the thread ends pinned
		var set unix.CPUSet
		set.Set(cpu)
		_ = unix.SchedSetaffinity(0, &set) // a failure shows as CPU -1
		ready <- unix.Gettid()
		for d := range work {
			for from := ownThreadClock(); ownThreadClock()-from < int64(d); {
			}
			done <- struct{}{}
		}
	}()
	t.Cleanup(func() { close(work) })
	tid = <-ready
	asleep.In(t, tid, unix.SYS_FUTEX)
	return tid, func(d time.Duration) {
		work <- d
		<-done
		asleep.In(t, tid, unix.SYS_FUTEX)
	}
}

// A pinned thread that runs for a known time shows with that time and its CPU.
func TestThreadClock(t *testing.T) {
	cpu := lastAllowedCPU(t)
	burner, burn := startWorker(t, cpu)
	clock := mustClock(t, burner)
	before, err := readThreads(FS{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	burn(50 * time.Millisecond)
	after, err := readThreads(FS{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	clock = mustClock(t, burner) - clock
	for _, d := range threadsBetween(before, after) {
		if d.TID != burner {
			continue
		}
		if d.CPU != cpu || d.RunNs < int64(50*time.Millisecond) || d.RunNs > clock {
			t.Errorf("thread ran %v on CPU %d, want 50ms to %v on CPU %d", time.Duration(d.RunNs), d.CPU,
				time.Duration(clock), cpu)
		}
		return
	}
	t.Error("the thread is not listed")
}

func TestThreadClockRefuses(t *testing.T) {
	if _, err := ThreadClock(1 << 22); err == nil {
		t.Error("the clock of no thread did not fail")
	}
}

func TestReadRusage(t *testing.T) {
	ru, err := ReadRusage()
	if err != nil {
		t.Fatal(err)
	}
	ts, err := readThreads(FS{}, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, th := range ts {
		sum += th.RunNs
	}
	again, err := ReadRusage()
	if err != nil {
		t.Fatal(err)
	}
	if ru.RunNs <= 0 || sum > again.RunNs {
		t.Errorf("process ran %d ns, then %d; its threads %d", ru.RunNs, again.RunNs, sum)
	}
}
