// SPDX-License-Identifier: MIT

package vfiouser

import "golang.org/x/sys/unix"

// interrupts are the device's vectors: eventfds of the client's, -1 for none. The device's lock
// guards them.
type interrupts []int

func newInterrupts(n int) interrupts {
	v := make(interrupts, n)
	for i := range v {
		v[i] = -1
	}
	return v
}

// raise signals a vector, if the client has asked for it.
func (v interrupts) raise(i int) {
	if i < 0 || i >= len(v) || v[i] < 0 {
		return
	}
	unix.Write(v[i], []byte{1, 0, 0, 0, 0, 0, 0, 0}) // full only after 2^64-2 unread ones
}

// set takes eventfds for count vectors from start on; without any it lets those there are go.
func (v interrupts) set(start, count uint32, fds []int) unix.Errno {
	if uint64(start)+uint64(count) > uint64(len(v)) || len(fds) != 0 && len(fds) != int(count) {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return unix.EINVAL
	}
	for i := range int(count) {
		at := int(start) + i
		if v[at] >= 0 {
			unix.Close(v[at])
		}
		v[at] = -1
		if len(fds) > 0 {
			v[at] = fds[i]
		}
	}
	return 0
}

// release lets all go.
func (v interrupts) release() { v.set(0, uint32(len(v)), nil) }
