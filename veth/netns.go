package veth

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Netns is a network namespace without a name: it lives as long as an open
// descriptor or a process in it, so that nothing stays behind even after
// kill -9.
type Netns struct{ f *os.File }

// NewNetns makes a namespace. It needs CAP_SYS_ADMIN.
func NewNetns() (*Netns, error) {
	var ns *Netns
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: unshare(CLONE_NEWNET): %w (run as root)", err)
		}
		f, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return fmt.Errorf("open the new network namespace: %w", err)
		}
		ns = &Netns{f}
		return nil
	})
	return ns, err
}

// onOwnThread runs f on a thread that ends with it, so that f may change the
// thread's namespace for good.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread goes with the goroutine
		done <- f()
	}()
	return <-done
}

// Do runs f on a thread inside the namespace.
func (n *Netns) Do(f func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(int(n.f.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter the network namespace: setns: %w", err)
		}
		return f()
	})
}

// Path is a path by which other processes can open the namespace while this
// process lives.
func (n *Netns) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.f.Fd()) }

// Fd is the namespace's descriptor.
func (n *Netns) Fd() int { return int(n.f.Fd()) }

// Close lets go of the namespace.
func (n *Netns) Close() error { return n.f.Close() }
