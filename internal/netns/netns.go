// SPDX-License-Identifier: MIT

// Package netns runs code in another network namespace.
package netns

import (
	"errors"
	"os"
	"runtime"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Enter is setns(2); tests have it refused.
var Enter = unix.Setns

// OnOwnThread runs f on a thread that ends with it, so that f may change the thread's namespace for
// good. The process's main thread does not end with its goroutine: it would stay in the namespace,
// which /proc/PID/ns/net shows, and keep it alive. So another one is taken while this goroutine
// holds that.
func OnOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			err := OnOwnThread(f)
			runtime.UnlockOSThread()
			done <- err
			return
		}
		done <- f() // never unlocked: the thread goes with the goroutine
	}()
	return <-done
}

// Do runs f on a thread inside the namespace that ns is open on, by ns's name in errors. A process
// that f starts is born there. It needs CAP_SYS_ADMIN.
func Do(ns *os.File, f func() error) error {
	return OnOwnThread(func() error {
		if err := enter(ns); err != nil {
			return err
		}
		return f()
	})
}

// Visit runs f on the calling thread inside the namespace that ns is open on, and comes back: for
// what belongs to the thread that asks for it. Its goroutine has the thread to itself
// (runtime.LockOSThread).
func Visit(ns *os.File, f func() error) (err error) {
	const own = "/proc/thread-self/ns/net"
	home, err := os.Open(own)
	if err != nil {
		return remedy.Error(remedy.NetnsOpen, "open the network namespace "+own, err, remedy.On{Path: own})
	}
	defer home.Close()
	if err := enter(ns); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, enter(home)) }()
	return f()
}

func enter(ns *os.File) error {
	if err := Enter(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return remedy.Error(remedy.NetnsEnter, "enter the network namespace "+ns.Name()+": setns", err,
			remedy.On{Path: ns.Name()})
	}
	return nil
}
