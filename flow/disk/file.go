// SPDX-License-Identifier: MIT

// Package disk writes the payload of a flow to a file, as a storage server or a log shipper does:
// past the page cache where payload lies so that the device can read it there (O_DIRECT), and else
// through it.
//
// Both are done to one file. A range that is written direct begins and ends at a page, and at a
// block of the file system, so no page of the cache has bytes of both. But a large folio may (xfs,
// newer ext4): it has the pages of a cached write, those of one request at most, until it is
// dropped. Before a direct write the kernel does so (mm/filemap.c: kiocb_write_and_wait,
// kiocb_invalidate_pages), and where a cached write has the folio just then it cannot: the direct
// one is copied, and says nothing. [Queue] keeps the two apart. The other way round no harm is
// done: a cached write that begins later makes folios of its own pages alone.
package disk

import (
	"errors"
	"fmt"
	"os"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

const (
	// MostBytes is how long the files of all flows of a run are together.
	MostBytes = 1 << 30
	// leastBytes is how long a file is at least: a multiple of what is under way at once.
	leastBytes = 4 << 20
	// MostFlows is how many of them there may be.
	MostFlows = MostBytes / leastBytes
)

// File is what the payload of a flow is written to, from its beginning to its end, again and again.
// It has no name (O_TMPFILE): nothing is left of it when it is closed, however that comes.
type File struct {
	dir    string
	fd     int // through the page cache
	direct int // past it; -1: everything goes through it
	why    string
	size   uint64
	grain  uint64 // direct writes begin and end at its multiples, in the file
	memory uint64 // and begin at multiples of this in memory
	pos    uint64 // of the flow, what is written next
}

// Way is how bytes go to a file.
type Way int

// The ways.
const (
	Cached Way = iota // copied into the page cache
	Direct            // by the device, from where they lie
	// Short could go direct if they were more: what follows may lie behind them.
	Short
)

// Make makes n files in a folder, all of them at most so many bytes long, nor longer than half of
// what is free there. All their blocks are taken now, so that the disk does not fill up while
// payload comes. It looks once how much is free: each file takes of it.
func Make(dir string, n int, most uint64) (files []*File, err error) {
	defer func() {
		for _, f := range files {
			if err != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}()
	for range n {
		f, err := open(dir)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	each, err := files[0].share(n, most)
	if err != nil {
		return files, err
	}
	for _, f := range files {
		if err := f.prepare(each); err != nil {
			return files, err
		}
	}
	return files, nil
}

// open makes a file without blocks. Nobody who may write to a folder of the path leads it elsewhere
// by a symbolic link.
func open(dir string) (*File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{Flags: unix.O_TMPFILE | unix.O_RDWR | unix.O_CLOEXEC,
		Mode: 0o600, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return nil, remedy.Error(remedy.FileMade, "make a file without a name in "+dir, err, remedy.On{Path: dir})
	}
	return &File{dir: dir, fd: fd, direct: -1}, nil
}

// prepare takes so many bytes, or less for whole blocks, and finds out how to write past the page
// cache.
func (f *File) prepare(most uint64) error {
	var st unix.Statx_t
	const mask = unix.STATX_BASIC_STATS | unix.STATX_DIOALIGN
	if err := unix.Statx(f.fd, "", unix.AT_EMPTY_PATH, mask, &st); err != nil {
		return f.failed(remedy.FileMade, "statx a file", err)
	}
	f.grain = uint64(max(uint32(os.Getpagesize()), st.Blksize, st.Dio_offset_align))
	if f.grain&(f.grain-1) != 0 || f.grain > leastBytes/4 {
		f.grain = uint64(os.Getpagesize())
		st.Mask &^= unix.STATX_DIOALIGN
	}
	f.size = most &^ (f.grain - 1)
	whole, err := f.allocate()
	if err != nil {
		return err
	}
	f.openDirect(&st, whole)
	return nil
}

// allocate takes the file's blocks; false: the file system cannot do so beforehand.
func (f *File) allocate() (whole bool, err error) {
	for {
		err = unix.Fallocate(f.fd, 0, 0, int64(f.size))
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EOPNOTSUPP):
			if err = unix.Ftruncate(f.fd, int64(f.size)); err != nil {
				return false, f.failed(remedy.FileWritten, fmt.Sprintf("make a file %d bytes long", f.size), err)
			}
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, f.failed(remedy.FileWritten, fmt.Sprintf("take %d bytes for a file", f.size), err)
		}
	}
}

// openDirect opens the file a second time, to write past the page cache, where the file system says
// how that is to be aligned. One that does not may copy all the same: tmpfs, btrfs with checksums.
// So does ext4 where a file has holes (fs/ext4/file.c: ext4_dio_write_iter), which has none if its
// blocks were taken.
func (f *File) openDirect(st *unix.Statx_t, whole bool) {
	const all = ": all of the payload goes through the page cache"
	switch {
	case st.Mask&unix.STATX_DIOALIGN == 0:
		f.why = "its file system does not say how direct writes are aligned (statx STATX_DIOALIGN)" + all
		return
	case st.Dio_mem_align == 0 || st.Dio_offset_align == 0:
		f.why = "its file system writes files such as this one through the page cache alone" + all
		return
	case !whole:
		f.why = "its file system cannot take a file's blocks beforehand (fallocate)" + all
		return
	case st.Dio_mem_align > uint32(os.Getpagesize()):
		f.why = fmt.Sprintf("direct writes would lie at multiples of %d bytes in memory", st.Dio_mem_align) + all
		return
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.fd), unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		f.why = fmt.Sprintf("it cannot be opened for direct writes (%v)", err) + all
		return
	}
	f.direct, f.memory = fd, uint64(st.Dio_mem_align)
}

// Next says how many of the n bytes that come next can be written at once, and how. They lie at an
// offset of memory that begins with a page.
func (f *File) Next(at, n int) (int, Way) {
	k := min(uint64(n), f.size-f.Offset())
	if f.direct < 0 || (uint64(at)-f.pos)&(f.memory-1) != 0 {
		return int(k), Cached
	}
	if over := f.pos & (f.grain - 1); over != 0 {
		return int(min(k, f.grain-over)), Cached
	}
	if k < f.grain {
		return int(k), Short
	}
	return int(k &^ (f.grain - 1)), Direct
}

// Offset returns where in the file the next byte is to be.
func (f *File) Offset() uint64 { return f.pos % f.size }

// took moves on by n bytes.
func (f *File) took(n int) { f.pos += uint64(n) }

// by returns the descriptor of a way.
func (f *File) by(w Way) int {
	if w == Direct {
		return f.direct
	}
	return f.fd
}

// Write writes p, as [File.Next] said, and returns how much of it. The Go scheduler is told of the
// call, as it is not of others of data paths: a write may sleep for long, and no signal ends that,
// so that whoever wants to stop all threads for a moment would wait for the disk.
func (f *File) Write(p []byte, w Way) (int, error) {
	for {
		n, err := unix.Pwrite(f.by(w), p, int64(f.Offset()))
		switch {
		case err == nil && n > 0:
			f.took(n)
			return n, nil
		case err == nil:
			err = unix.ENOSPC
		case errors.Is(err, unix.EINTR):
			continue
		}
		return 0, f.failed(remedy.FileWritten, fmt.Sprintf("pwrite %d bytes at %d", len(p), f.Offset()), err)
	}
}

// failed names what a failed call on the file means.
func (f *File) failed(call remedy.Call, op string, err error) error {
	return remedy.Error(call, fmt.Sprintf("%s (a file in %s)", op, f.dir), err, remedy.On{Path: f.dir})
}

// Bytes returns how long the file is.
func (f *File) Bytes() uint64 { return f.size }

// Written returns how much of the flow was written, or is being written.
func (f *File) Written() uint64 { return f.pos }

// Grain returns of how many bytes direct writes are multiples; 0: there are none, and why says why.
func (f *File) Grain() (bytes int, why string) {
	if f.direct < 0 {
		return 0, f.why
	}
	return int(f.grain), ""
}

// Close closes the file, which is gone then. It may be called again.
func (f *File) Close() error {
	var errs []error
	for _, fd := range []*int{&f.direct, &f.fd} {
		if *fd >= 0 {
			errs = append(errs, unix.Close(*fd))
			*fd = -1
		}
	}
	return errors.Join(errs...)
}
