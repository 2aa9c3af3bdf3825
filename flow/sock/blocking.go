// SPDX-License-Identifier: MIT

package sock

import (
	"time"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Blocking lets calls on the socket fd sleep, for at most limit at a time: then
// they fail with EAGAIN. A signal ends them with EINTR, because the kernel does
// not restart calls on a socket that has a time limit (signal(7)); so the Go
// runtime, which is not told of [Recv], gets its thread when it asks for it.
//
// One call that sleeps costs less than one that finds nothing, a poll, and
// another one.
func Blocking(fd int, limit time.Duration) error {
	return blocking(fd, unix.SO_RCVTIMEO, "SO_RCVTIMEO", limit)
}

// BlockingSend does what [Blocking] does, for calls that send: one that the limit ends returns how
// much it sent.
func BlockingSend(fd int, limit time.Duration) error {
	return blocking(fd, unix.SO_SNDTIMEO, "SO_SNDTIMEO", limit)
}

// Limit bounds how long calls that receive sleep, on sockets that do, and on those that a port
// hands out.
func Limit(fd int, limit time.Duration) error {
	return timeout(fd, unix.SO_RCVTIMEO, "SO_RCVTIMEO", limit)
}

func timeout(fd, option int, name string, limit time.Duration) error {
	tv := unix.NsecToTimeval(limit.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, option, &tv); err != nil {
		return remedy.Error(remedy.SetTimeout, "setsockopt "+name, err, remedy.On{FD: fd, Value: limit.String()})
	}
	return nil
}

func blocking(fd, option int, name string, limit time.Duration) error {
	if err := timeout(fd, option, name, limit); err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return remedy.Error(remedy.Fcntl, "fcntl F_SETFL", err, remedy.On{FD: fd})
	}
	return nil
}
