// SPDX-License-Identifier: MIT

package perf

import (
	"testing"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may give has the table's words, and names the CPU.
func TestRefusedCalls(t *testing.T) {
	open := func() error {
		s, err := Open(Options{CPUs: []int{0}, Clock: true})
		if err == nil {
			s.Close()
		}
		return err
	}
	remedytest.Try(t, remedy.PerfOpen, "perf_event_open for CPU 0", remedytest.Denied(unix.SYS_PERF_EVENT_OPEN, open),
		remedytest.Repeated...)
	remedytest.Try(t, remedy.PerfMap, "CPU 0",
		func(errno unix.Errno) error { return mapRefusal(errno, 0, kernelSysctl) })
	share := func() error {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return share(fd, fd, 7, 0)
	}
	remedytest.Try(t, remedy.PerfOutput, "thread 7", remedytest.Denied(unix.SYS_IOCTL, share), remedytest.Repeated...)
}
