// SPDX-License-Identifier: MIT

package nopreempt

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleep waits for what never comes, for 100 ms or until a signal, without telling the scheduler.
func sleep(fd int) {
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	ts := unix.NsecToTimespec(100e6)
	_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}
