// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrProtocol is a message that is none.
var ErrProtocol = errors.New("not the protocol of docs/memory.md")

// send sends one message, with descriptors.
func send(fd int, line string, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		err := unix.Sendmsg(fd, []byte(line), rights, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return err
		}
	}
}

// receive receives one message, and the descriptors that came with it: at most one is wanted, and
// of more none is kept. io.EOF: the other side is gone.
func receive(fd int) (line string, fds []int, err error) {
	buf, oob := make([]byte, mostMsg), make([]byte, unix.CmsgSpace(8*4))
	n, oobn, flags, err := recvmsg(fd, buf, oob)
	if err != nil {
		return "", nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for _, m := range messages {
		if got, rerr := unix.ParseUnixRights(&m); rerr == nil {
			fds = append(fds, got...)
		}
	}
	switch {
	case err != nil:
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || len(fds) > 1:
		err = fmt.Errorf("%w: a message of more than %d bytes, or of more than one descriptor", ErrProtocol, mostMsg)
	case n == 0 && len(fds) == 0:
		err = io.EOF
	case slices.Contains(buf[:n], 0):
		err = fmt.Errorf("%w: a message with a byte of 0", ErrProtocol)
	}
	if err != nil {
		closeAll(fds)
		return "", nil, err
	}
	return string(buf[:n]), fds, nil
}

func recvmsg(fd int, buf, oob []byte) (n, oobn, flags int, err error) {
	for {
		n, oobn, flags, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			return n, oobn, flags, err
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
