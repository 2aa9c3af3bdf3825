// SPDX-License-Identifier: MIT

// Package asleep lets tests wait until a thread of theirs sleeps where it should.
package asleep

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
)

// In waits until a thread of this process sleeps in a system call, and returns how
// often it has gone to sleep by then, in any. It fails the test after a minute.
func In(t testing.TB, tid int, call uintptr) (slept int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		if now, n := where(tid); now == int(call) {
			return n
		}
	}
	t.Errorf("thread %d does not sleep in system call %d", tid, call)
	return 0
}

// Again does what In does for a thread that had gone to sleep so often.
func Again(t testing.TB, tid int, call uintptr, slept int) int {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if n := In(t, tid, call); n != slept {
			return n
		}
		time.Sleep(100 * time.Microsecond)
	}
	t.Errorf("thread %d does not wake up", tid)
	return slept
}

// where reads the system call that a thread sleeps in, -1 if it does not, and how often it has gone
// to sleep.
func where(tid int) (call, slept int) {
	dir := fmt.Sprintf("/proc/self/task/%d/", tid)
	in, err := os.ReadFile(dir + "syscall")
	if err != nil {
		return -1, 0
	}
	if n, _ := fmt.Sscan(string(in), &call); n != 1 { // it runs
		return -1, 0
	}
	status, _ := os.ReadFile(dir + "status")
	_, after, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:"))
	_, _ = fmt.Sscan(string(after), &slept)
	return call, slept
}
