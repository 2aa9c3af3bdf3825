// SPDX-License-Identifier: MIT

package nopreempt

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// calling makes system calls on a locked thread for so long, and says how often it slept.
func calling(d time.Duration, absorb bool) (slept int64) {
	done := make(chan int64)
	go func() {
		runtime.LockOSThread()
		var k Keeper
		var before, after unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &before)
		for from := time.Now(); time.Since(from) < d; {
			for range 16 {
				_, _, _ = unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
				if absorb {
					k.Absorb()
				}
			}
		}
		_ = unix.Getrusage(unix.RUSAGE_THREAD, &after)
		done <- after.Nvcsw - before.Nvcsw
	}()
	return <-done
}

// The runtime takes the thread away every 10 ms or 20, as often as it has the CPU for so long,
// unless it is kept from it. A request that comes outside of the system call is heard, and one in
// 16.
func TestKept(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var taken, kept int64
	for end := time.Now().Add(time.Minute); taken < 40 && time.Now().Before(end); {
		taken += calling(250*time.Millisecond, false)
		kept += calling(250*time.Millisecond, true)
	}
	if taken < 20 {
		t.Skipf("this machine is so busy that no thread ran for 10 ms %d times in half a minute: there was nothing to keep it from", 20)
	}
	if t.Logf("slept %d times, and %d times", taken, kept); kept > taken/2 {
		t.Errorf("the thread slept %d times, without Absorb %d times", kept, taken)
	}
}

// The collector has all threads soon, of a path that is busy and of one that sleeps.
func TestCollected(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	var stop atomic.Bool
	ended := make(chan bool)
	path := func(call func()) {
		runtime.LockOSThread()
		var k Keeper
		for !stop.Load() {
			call()
			k.Absorb()
		}
		ended <- true
	}
	go path(func() { _, _, _ = unix.RawSyscall(unix.SYS_GETPID, 0, 0, 0) })
	fds := make([]int, 2)
	if err := unix.Pipe(fds); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	go path(func() { sleep(fds[0]) })
	const collections = 20
	from := time.Now()
	for range collections {
		runtime.GC()
	}
	took := time.Since(from)
	stop.Store(true)
	<-ended
	<-ended
	t.Logf("%d collections took %v", collections, took)
	if took > collections*time.Second {
		t.Errorf("%d collections took %v", collections, took)
	}
}
