// SPDX-License-Identifier: MIT

package remedy

import "golang.org/x/sys/unix"

// Looks at the socket that a call was about.
var zeroCopy = &state{Name: "the socket sends without a copy", From: "getsockopt SO_ZEROCOPY",
	Holds: func(on On) (string, bool) { return "", on.FD > 0 && zeroCopies(on.FD) }}

// zeroCopies reports whether SO_ZEROCOPY is set.
func zeroCopies(fd int) bool {
	on, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY)
	return err == nil && on == 1
}

// isStream reports whether the socket is one of TCP.
func isStream(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_STREAM
}
