// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"os"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// ErrClosed is returned by calls on a ring after Close.
var ErrClosed = errors.New("uring: ring is closed")

// opError is nil for errno 0.
func opError(op string, errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return &fault.Error{Op: op, Err: errno, How: fixFor(errno)}
}

const (
	fixMemlock = "more pinned memory than the limit allows: raise it (ulimit -l, LimitMEMLOCK=) or run with CAP_IPC_LOCK"
	fixThread  = "the ring belongs to another OS thread: call runtime.LockOSThread before New or Enable and stay on that thread"
	fixNoRing  = "this kernel has no io_uring (CONFIG_IO_URING is off), or a seccomp filter hides it: use a kernel with io_uring, or allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile"
)

// fixFor knows what an errno means on a ring that exists.
func fixFor(errno unix.Errno) string {
	switch errno {
	case unix.ENOMEM:
		return fixMemlock
	case unix.EEXIST:
		return fixThread
	case unix.EBADFD:
		return "the ring is disabled: call Enable on the data thread first"
	case unix.EBADR:
		return "completions were lost because memory ran out: give the ring more CQ entries"
	case unix.ENOSYS:
		return fixNoRing
	case unix.EPERM:
		return fixPermission("/proc/sys/kernel/io_uring_disabled")
	}
	return ""
}

// fixPermission tells the two reasons for EPERM apart by the sysctl in file
// (kernel.io_uring_disabled, 6.6: 0 all may, 1 a group and root, 2 nobody).
func fixPermission(file string) string {
	b, _ := os.ReadFile(file)
	switch strings.TrimSpace(string(b)) {
	case "1":
		return "sysctl kernel.io_uring_disabled is 1: run as root or with CAP_SYS_ADMIN, join the group kernel.io_uring_group, or set kernel.io_uring_disabled=0"
	case "2":
		return "sysctl kernel.io_uring_disabled is 2: set kernel.io_uring_disabled=0"
	}
	return "a seccomp filter forbids it: allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile"
}
