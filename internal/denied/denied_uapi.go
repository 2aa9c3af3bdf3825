// SPDX-License-Identifier: MIT

// Package denied lets tests see what code does on a kernel that lacks a system call.
package denied

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run calls f on a thread of its own, on which the system call with number nr fails
// with errno. The thread ends with it. f is not to be one that ends its goroutine,
// such as t.Fatal, and the call none that Go's runtime needs, such as mmap. An error
// means that f was not called.
func Run(nr uint32, errno unix.Errno, f func()) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := install(nr, errno)
		if err == nil {
			f()
		}
		done <- err
	}()
	return <-done
}

// install gives the calling thread a filter of system calls (seccomp(2)), for good.
func install(nr uint32, errno unix.Errno) error {
	const (
		loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS // of struct seccomp_data: at 0 the number
		ifEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret      = unix.BPF_RET | unix.BPF_K
		allow    = 0x7fff0000 // SECCOMP_RET_ALLOW
		fail     = 0x00050000 // SECCOMP_RET_ERRNO
	)
	code := []unix.SockFilter{
		{Code: loadWord},
		{Code: ifEqual, Jf: 1, K: nr},
		{Code: ret, K: fail | uint32(errno)},
		{Code: ret, K: allow},
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	runtime.KeepAlive(code)
	if err != nil {
		return errors.Join(fmt.Errorf("filter system call %d", nr), err)
	}
	return nil
}
