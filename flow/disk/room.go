// SPDX-License-Identifier: MIT

package disk

import (
	"cmp"
	"fmt"
	"math"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// share returns how long each of n files is, of which f is one without blocks.
func (f *File) share(n int, most uint64) (each uint64, err error) {
	room, inMemory, err := f.room()
	if err != nil {
		return 0, err
	}
	all, short := min(most, room/2), ""
	if inMemory {
		all, short = ofMemory(all, uint64(n)*leastBytes)
	}
	if each = all / uint64(n); each < leastBytes {
		op := fmt.Sprintf("make %d files of %d MiB in half of the %d MiB that are free", n, leastBytes>>20, room>>20)
		if short != "" {
			op = fmt.Sprintf("make %d files of %d MiB in half of the memory that is free: %s", n, leastBytes>>20, short)
		}
		return 0, f.failed(remedy.FileWritten, op, unix.ENOSPC)
	}
	return each, nil
}

// ofMemory halves a length of files in memory until as much again stays free, to the machine and to
// this process's control groups: what a tmpfs may hold is often more than there is. Below least it
// says who has less.
func ofMemory(all, least uint64) (fits uint64, short string) {
	for ; all >= least; all /= 2 {
		if short = remedy.MemoryShort(int64(2 * all)); short == "" {
			break
		}
	}
	return all, short
}

// room returns how many bytes are free for this user, and whether the file system is in memory. One
// without a limit (ramfs) has room for all.
func (f *File) room() (bytes uint64, inMemory bool, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(f.fd, &st); err != nil {
		return 0, false, f.failed(remedy.FileMade, "look for free space", err)
	}
	inMemory = st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
	if inMemory && st.Blocks == 0 {
		return math.MaxUint64, true, nil
	}
	return st.Bavail * uint64(cmp.Or(st.Frsize, st.Bsize)), inMemory, nil
}
