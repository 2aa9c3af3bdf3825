// SPDX-License-Identifier: MIT

package tcpmmap

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// probe maps a window on a TCP socket and asks for payload.
func probe() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a TCP socket: %w", err)
	}
	defer unix.Close(fd)
	lacking := func(call remedy.Call, op string, err error) error {
		return &fault.Unsupported{Mode: mode, Op: op, Err: err, How: remedy.Error(call, op, err, remedy.On{FD: fd}).How}
	}
	window, err := sock.MapWindow(fd, pageBytes)
	if err != nil {
		return lacking(remedy.MapTCP, "mmap of a TCP socket", err)
	}
	var m sock.Mapper
	_, errno := m.Receive(fd, window, true)
	if errno != 0 {
		err = lacking(remedy.MapReceive, "getsockopt TCP_ZEROCOPY_RECEIVE", errno)
	}
	return errors.Join(err, unix.Munmap(window))
}
