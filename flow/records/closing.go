// SPDX-License-Identifier: MIT

package records

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// alert is the type of records that say something of the connection.
const alert = 21

// closeNotify is the alert by which a sender ends its payload (RFC 8446, 6.1): a warning.
var closeNotify = [2]byte{1, 0}

// ErrClosed is what an [Opener] says of that alert.
var ErrClosed = errors.New("the sender has ended the payload (close_notify)")

// Notify sends the alert by a socket whose records the kernel makes, behind all that the kernel has
// of those before. It does not wait: EAGAIN says that the socket is full.
func Notify(fd int) error {
	const set = 1 // TLS_SET_RECORD_TYPE
	control := make([]byte, unix.CmsgSpace(1))
	binary.NativeEndian.PutUint64(control, uint64(unix.CmsgLen(1))) // struct cmsghdr, of 64 bits
	binary.NativeEndian.PutUint32(control[8:], unix.SOL_TLS)
	binary.NativeEndian.PutUint32(control[12:], set)
	control[unix.CmsgLen(0)] = alert
	_, err := unix.SendmsgN(fd, closeNotify[:], control, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return err
}

// Notified reports whether a socket whose records the kernel opens has come to that alert, and
// takes it. A call that has no room for the type of a record fails there with EIO.
func Notified(fd int) bool {
	const get = 2 // TLS_GET_RECORD_TYPE
	var p [len(closeNotify)]byte
	control := make([]byte, unix.CmsgSpace(1))
	n, m, _, _, err := unix.Recvmsg(fd, p[:], control, unix.MSG_DONTWAIT)
	if err != nil || n != len(p) || p != closeNotify {
		return false
	}
	all, err := unix.ParseSocketControlMessage(control[:m])
	return err == nil && len(all) == 1 && all[0].Header.Level == unix.SOL_TLS && all[0].Header.Type == get &&
		len(all[0].Data) > 0 && all[0].Data[0] == alert
}
