// SPDX-License-Identifier: MIT

package veth

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/zcbench/zcbench/internal/privilege"

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
			return fmt.Errorf("make a network namespace: unshare(CLONE_NEWNET): %w (%s)", err, privilege.Fix(privilege.Own, unix.CAP_SYS_ADMIN))
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

// OpenNetns opens the namespace at path, such as /run/netns/NAME or
// /proc/PID/ns/net. Anything else is not opened: paths come from files, and to open a
// device may do something (/dev/watchdog), to open a pipe may wait forever.
func OpenNetns(path string) (*Netns, error) {
	f, err := openNetns(path)
	if err != nil {
		return nil, fmt.Errorf("open the network namespace: %w", err)
	}
	return &Netns{f}, nil
}

func openNetns(path string) (*os.File, error) {
	at, err := os.OpenFile(path, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(at.Fd()), &st); err != nil {
		return nil, &os.PathError{Op: "fstatfs", Path: path, Err: err}
	}
	if st.Type != unix.NSFS_MAGIC {
		return nil, fmt.Errorf("%s is not a network namespace such as /run/netns/NAME or /proc/PID/ns/net", path)
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", at.Fd()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// onOwnThread runs f on a thread that ends with it, so that f may change the
// thread's namespace for good. The process's main thread does not end with its
// goroutine: it would stay in the namespace, which /proc/PID/ns/net shows, and
// keep it alive. So another one is taken while this goroutine holds that.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			err := onOwnThread(f)
			runtime.UnlockOSThread()
			done <- err
			return
		}
		done <- f() // never unlocked: the thread goes with the goroutine
	}()
	return <-done
}

// Do runs f on a thread inside the namespace. A process that f starts is born
// there.
func (n *Netns) Do(f func() error) error {
	return onOwnThread(func() error {
		err := unix.Setns(int(n.f.Fd()), unix.CLONE_NEWNET)
		switch {
		case errors.Is(err, unix.EPERM):
			return fmt.Errorf("enter the network namespace: setns: %w (%s)", err, entering())
		case errors.Is(err, unix.EINVAL):
			return fmt.Errorf("enter the network namespace: setns: %w (%s is not a network namespace)", err, n.f.Name())
		case err != nil:
			return fmt.Errorf("enter the network namespace: setns: %w", err)
		}
		return f()
	})
}

// entering is what to do where setns(2) is refused. It wants CAP_SYS_ADMIN here and over the
// namespace (net/core/net_namespace.c: netns_install), so who has it here is of another user
// namespace than it.
func entering() string {
	if why := privilege.Look().Lacks(privilege.Own, unix.CAP_SYS_ADMIN); why != privilege.Granted {
		return why.Cause(unix.CAP_SYS_ADMIN) + ": " + why.Do(unix.CAP_SYS_ADMIN)
	}
	return "it belongs to another user namespace: run on the host, or as root outside"
}

// Path is a path by which other processes can open the namespace while this
// process lives.
func (n *Netns) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.f.Fd()) }

// Fd is the namespace's descriptor.
func (n *Netns) Fd() int { return int(n.f.Fd()) }

// Close lets go of the namespace.
func (n *Netns) Close() error { return n.f.Close() }
