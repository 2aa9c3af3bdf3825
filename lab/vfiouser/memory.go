// SPDX-License-Identifier: MIT

package vfiouser

import (
	"slices"

	"golang.org/x/sys/unix"
)

// maxMaps bounds what a client can make us map.
const maxMaps = 256

// Memory is the guest's memory as the device reaches it. The device's lock guards it: a slice that
// Bytes returned is good until the lock is let go, because the client may unmap it then.
type Memory struct{ maps []mapping }

// mapping is one range of addresses of the device. Without bytes it is there, but cannot be
// reached: the client gave no descriptor.
type mapping struct {
	addr, size uint64
	bytes      []byte
	writable   bool
}

// Bytes returns n bytes of memory at addr, nil where they are not all in one range that can be
// reached, and written.
func (m *Memory) Bytes(addr, n uint64) []byte {
	for i := range m.maps {
		r := &m.maps[i]
		if addr < r.addr || addr-r.addr >= r.size {
			continue
		}
		off := addr - r.addr
		if r.bytes == nil || !r.writable || n > r.size-off {
			return nil
		}
		return r.bytes[off : off+n : off+n]
	}
	return nil
}

// add maps a range; fd may be -1, and stays the caller's.
func (m *Memory) add(addr, size, offset uint64, fd int, writable bool) unix.Errno {
	if size == 0 || addr+size < addr || size>>47 != 0 || offset>>62 != 0 {
		return unix.EINVAL
	}
	if len(m.maps) >= maxMaps {
		return unix.ENOSPC
	}
	for _, r := range m.maps {
		if addr < r.addr+r.size && r.addr < addr+size {
			return unix.EEXIST
		}
	}
	r := mapping{addr: addr, size: size, writable: writable}
	if fd >= 0 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || uint64(st.Size) < offset+size {
			return unix.EINVAL // what lies behind a file's end cannot be touched
		}
		prot := unix.PROT_READ
		if writable {
			prot |= unix.PROT_WRITE
		}
		b, err := unix.Mmap(fd, int64(offset), int(size), prot, unix.MAP_SHARED)
		if err != nil {
			return unix.EINVAL
		}
		r.bytes = b
	}
	m.maps = append(m.maps, r)
	return 0
}

// remove unmaps the ranges that lie in [addr, addr+size); all: every one.
func (m *Memory) remove(addr, size uint64, all bool) unix.Errno {
	found := false
	m.maps = slices.DeleteFunc(m.maps, func(r mapping) bool {
		if !all && (r.addr < addr || r.addr+r.size > addr+size) {
			return false
		}
		found = true
		if r.bytes != nil {
			unix.Munmap(r.bytes)
		}
		return true
	})
	if !found && !all {
		return unix.ENOENT
	}
	return 0
}
