// SPDX-License-Identifier: MIT

package labtest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// MemoryInPieces leaves the machine with thousands of single free pages, until the test ends:
// memory that is asked for in pages is of these first, and so in pieces. In a machine that was
// started just now all of it may be in one.
func MemoryInPieces(t *testing.T) {
	t.Helper()
	const bytes = 32 << 20
	page := os.Getpagesize()
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(m) })
	if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < bytes; at += page {
		m[at] = 1
	}
	for at := 0; at < bytes; at += 2 * page {
		if err := unix.Madvise(m[at:at+page], unix.MADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	}
}
