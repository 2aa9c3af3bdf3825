// SPDX-License-Identifier: MIT

package msgzc

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"golang.org/x/sys/unix"
)

// probe tries whether TCP sockets take SO_ZEROCOPY.
func probe() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a TCP socket: %w", err)
	}
	defer unix.Close(fd)
	if err := (sock.Options{ZeroCopy: true}).Apply(fd); err != nil {
		return &fault.Unsupported{Mode: "msg-zerocopy", Op: "SO_ZEROCOPY", Err: err, How: fault.Fix(err)}
	}
	return nil
}
