// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Probe tries whether this kernel has AF_XDP, and leaves nothing behind.
func Probe() error {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return socketError(err)
	}
	return unix.Close(fd)
}

func socketError(err error) error {
	return remedy.Error(remedy.XSKSocket, "open a socket of AF_XDP", err, remedy.On{})
}

// failed names the socket and what was done.
func (s *Socket) failed(call remedy.Call, what string, err error) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return f
	}
	return remedy.Error(call, fmt.Sprintf("AF_XDP on queue %d of %s: %s", s.Queue, s.Dev, what), err,
		remedy.On{Dev: s.Dev, FD: s.FD, Bytes: int64(frames * s.chunk), Facts: s.fact})
}

// fact looks at the interface, when the kernel has refused something.
func (s *Socket) fact(f remedy.Fact) (words string, holds bool) {
	switch f {
	case remedy.ZeroCopyAsked:
		return "", s.ZeroCopy
	case remedy.NoSuchQueue:
		queues, err := queuesOf(s.Dev)
		return fmt.Sprintf("%s has %d RX queues, counted from 0", s.Dev, queues), err == nil && s.Queue >= queues
	}
	return "", false
}

// queuesOf counts the RX queues of an interface.
func queuesOf(dev string) (int, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	all, err := d.Queues()
	if err == nil && len(all) == 0 {
		err = unix.ENODATA // it is down, or tells none
	}
	return len(all), err
}
