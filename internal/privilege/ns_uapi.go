// SPDX-License-Identifier: MIT

package privilege

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownerOf asks for the user who made a user namespace, as the caller's namespace numbers users
// (fs/nsfs.c: NS_GET_OWNER_UID).
func ownerOf(fd int) (int, error) {
	var uid uint32
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.NS_GET_OWNER_UID, uintptr(unsafe.Pointer(&uid)))
	if errno != 0 {
		return 0, errno
	}
	return int(uid), nil
}
