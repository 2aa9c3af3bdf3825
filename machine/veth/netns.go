// SPDX-License-Identifier: MIT

package veth

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/netns"
	"github.com/zcbench/zcbench/internal/remedy"
)

// Netns is a network namespace without a name: it lives as long as an open
// descriptor or a process in it, so that nothing stays behind even after
// kill -9.
type Netns struct{ f *os.File }

// unshare is the kernel's; tests have it refused.
var unshare = unix.Unshare

// NewNetns makes a namespace. It needs CAP_SYS_ADMIN.
func NewNetns() (*Netns, error) {
	var ns *Netns
	err := netns.OnOwnThread(func() error {
		if err := unshare(unix.CLONE_NEWNET); err != nil {
			return remedy.Error(remedy.NetnsMake, "make a network namespace: unshare(CLONE_NEWNET)", err, remedy.On{})
		}
		f, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return remedy.Error(remedy.NetnsOpen, "open the new network namespace", err,
				remedy.On{Path: "/proc/thread-self/ns/net"})
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
		op := "open the network namespace"
		if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			op += ": " + pe.Op + " " + path
		}
		return nil, remedy.Error(remedy.NetnsOpen, op, err, remedy.On{Path: path})
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

// Do runs f on a thread inside the namespace. A process that f starts is born
// there.
func (n *Netns) Do(f func() error) error { return netns.Do(n.f, f) }

// Visit runs f inside the namespace on the calling thread, and comes back: see [netns.Visit].
func (n *Netns) Visit(f func() error) error { return netns.Visit(n.f, f) }

// Wait has a thread wait inside the namespace until leave is called: its files are those of the
// namespace (/proc/self/task/TID/net).
func (n *Netns) Wait() (tid int, leave func(), err error) {
	in, out, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- n.Do(func() error {
			tid = unix.Gettid()
			close(in)
			<-out
			return nil
		})
	}()
	select {
	case <-in:
		return tid, func() { close(out); <-ended }, nil
	case err := <-ended:
		return 0, nil, err
	}
}

// Path returns a path by which other processes can open the namespace while this process lives.
func (n *Netns) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.f.Fd()) }

// Fd returns the namespace's descriptor.
func (n *Netns) Fd() int { return int(n.f.Fd()) }

// Close lets go of the namespace.
func (n *Netns) Close() error { return n.f.Close() }
