// SPDX-License-Identifier: MIT

package perf

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// spool keeps records as the kernel wrote them, in memory that is set aside before sampling
// begins: keeping one never allocates. The kernel gives a page of it when it is first written.
type spool struct {
	mem  []byte
	used int
	left uint64 // records for which there was no room
}

func newSpool(bytes int) (*spool, error) {
	mem, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("set %d bytes aside for samples: %w", bytes, err)
	}
	return &spool{mem: mem}, nil
}

// keep copies whole records, the second piece behind the first. If they do not all fit, none
// is kept: the beginning is what a profile of a load that is steady can do with.
func (s *spool) keep(first, second []byte) {
	if s.left > 0 || len(first)+len(second) > len(s.mem)-s.used {
		s.left += records(first, second)
		return
	}
	s.used += copy(s.mem[s.used:], first)
	s.used += copy(s.mem[s.used:], second)
}

func (s *spool) kept() []byte { return s.mem[:s.used] }

func (s *spool) free() error { return unix.Munmap(s.mem) }

// headerLen is struct perf_event_header: u32 type, u16 misc, u16 size of all of the record.
// Records are multiples of 8 bytes, so that no header lies across the ring's end.
const headerLen = 8

// records counts those in two pieces of which the second continues the first.
func records(first, second []byte) (n uint64) {
	all := len(first) + len(second)
	for at := 0; at+headerLen <= all; n++ {
		h := first[min(at, len(first)):]
		if len(h) == 0 {
			h = second[at-len(first):]
		}
		if len(h) < headerLen {
			return n
		}
		size := int(binary.NativeEndian.Uint16(h[6:]))
		if size < headerLen {
			return n
		}
		at += size
	}
	return n
}
