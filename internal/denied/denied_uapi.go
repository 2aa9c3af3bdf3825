// SPDX-License-Identifier: MIT

// Package denied lets tests see what code does on a kernel that lacks a system call.
package denied

import (
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
	return run(filter(errno, word{0, nr}), f)
}

// RunIf does what [Run] does for calls whose argument arg, from 0 on, has the low 32 bits value:
// one mmap among those of Go's runtime.
func RunIf(nr uint32, arg int, value uint32, errno unix.Errno, f func()) error {
	return run(filter(errno, word{0, nr}, word{uint32(16 + 8*arg), value}), f)
}

func run(code []unix.SockFilter, f func()) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := install(code)
		if err == nil {
			f()
		}
		done <- err
	}()
	return <-done
}

// word is one of struct seccomp_data: at 0 the call's number, from 16 on its arguments, of eight
// bytes each, the low ones first on the machines that zcbench is built for.
type word struct{ at, is uint32 }

// filter makes the program that fails calls of which all words are as they are here.
func filter(errno unix.Errno, words ...word) (code []unix.SockFilter) {
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		ifEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret     = unix.BPF_RET | unix.BPF_K
		allow   = 0x7fff0000 // SECCOMP_RET_ALLOW
		fail    = 0x00050000 // SECCOMP_RET_ERRNO
	)
	for i, w := range words {
		past := uint8(2*(len(words)-1-i) + 1) // what is left of the words, and fail
		code = append(code, unix.SockFilter{Code: load, K: w.at}, unix.SockFilter{Code: ifEqual, Jf: past, K: w.is})
	}
	return append(code, unix.SockFilter{Code: ret, K: fail | uint32(errno)}, unix.SockFilter{Code: ret, K: allow})
}

// install gives the calling thread a filter of system calls (seccomp(2)), for good.
func install(code []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	runtime.KeepAlive(code)
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}
