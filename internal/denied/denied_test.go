// SPDX-License-Identifier: MIT

package denied

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The call fails on the one thread, with the errno that was asked for, and only it.
func TestRun(t *testing.T) {
	var denied, other error
	if err := Run(unix.SYS_GETPRIORITY, unix.EDEADLK, func() {
		_, denied = unix.Getpriority(unix.PRIO_PROCESS, 0)
		other = unix.Getrusage(unix.RUSAGE_SELF, new(unix.Rusage))
	}); err != nil {
		t.Fatal(err)
	}
	if denied != unix.EDEADLK || other != nil {
		t.Errorf("%v, and another call: %v", denied, other)
	}
	for range 20 {
		if _, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err != nil {
			t.Fatalf("on this thread too: %v", err)
		}
	}
}

// Only the call with that argument fails.
func TestRunIf(t *testing.T) {
	var denied, other error
	if err := RunIf(unix.SYS_GETPRIORITY, 0, unix.PRIO_USER, unix.EDEADLK, func() {
		_, denied = unix.Getpriority(unix.PRIO_USER, 0)
		_, other = unix.Getpriority(unix.PRIO_PROCESS, 0)
	}); err != nil {
		t.Fatal(err)
	}
	if denied != unix.EDEADLK || other != nil {
		t.Errorf("%v, and with another argument: %v", denied, other)
	}
}
