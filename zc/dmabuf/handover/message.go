// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// send sends one message, with a descriptor unless fd is less than 0.
func send(sock int, text string, fd int) error {
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	for {
		err := unix.Sendmsg(sock, []byte(text), rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// receive takes one message, and the descriptor that came with it, else -1. A second descriptor
// is an error, and none is kept then. At the socket's end it returns io.EOF.
func receive(sock int, buf []byte) (text string, fd int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	var n, oobn, flags int
	for {
		n, oobn, flags, _, err = unix.Recvmsg(sock, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return "", -1, err
	}
	fds, err := descriptors(oob[:oobn])
	switch {
	case err != nil:
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		err = fmt.Errorf("a message longer than %d bytes, or more descriptors than one", len(buf))
	case len(fds) > 1:
		err = fmt.Errorf("%d descriptors with one message", len(fds))
	case n == 0:
		err = io.EOF
	}
	if err != nil || len(fds) == 0 {
		closeAll(fds)
		return string(buf[:n]), -1, err
	}
	return string(buf[:n]), fds[0], nil
}

func descriptors(oob []byte) (fds []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	for _, m := range messages {
		if more, rerr := unix.ParseUnixRights(&m); rerr == nil {
			fds = append(fds, more...)
		}
	}
	return fds, err
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// two reads "WORD OFFSET LENGTH", of memory of size bytes.
func two(args []string, size int64) (off, n int64, err error) {
	if len(args) != 2 {
		return 0, 0, errors.New("an offset and a length are needed")
	}
	if off, err = number(args[0]); err == nil {
		n, err = number(args[1])
	}
	if err == nil && (n == 0 || n > Window || n > size || off > size-n) {
		err = fmt.Errorf("%d bytes at %d are not within the memory of %d, or longer than %d", n, off, size, int64(Window))
	}
	return off, n, err
}

// number reads a decimal number from 0, without a sign.
func number(s string) (int64, error) {
	v, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", shorten(s, 40))
	}
	return int64(v), nil
}

func shorten(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// words splits a message's first line.
func words(text string) (word string, args []string) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	if len(f) == 0 {
		return "", nil
	}
	return f[0], f[1:]
}
