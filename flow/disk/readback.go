// SPDX-License-Identifier: MIT

package disk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// readBytes is how much is read back by a call.
const readBytes = leastBytes / 4

// ReadBack reads all of the flow that the file holds: its end, where it was longer than the file.
// It comes from the device, and not from the page cache, where the file is on one. See is shown it,
// with its position in the flow.
func (f *File) ReadBack(ctx context.Context, see func(pos uint64, p []byte)) (held uint64, err error) {
	fd := f.direct
	if fd < 0 {
		if fd, err = f.fd, f.uncache(ctx); err != nil {
			return 0, err
		}
	}
	buf, err := unix.Mmap(-1, 0, readBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, remedy.Error(remedy.Mmap, fmt.Sprintf("map %d bytes to read a file back", readBytes), err,
			remedy.On{Bytes: readBytes})
	}
	defer unix.Munmap(buf)
	held = min(f.pos, f.size)
	for pos := f.pos - held; pos < f.pos; {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		at := pos % f.size
		skip := at & (f.grain - 1)
		n, err := pread(fd, buf[:min(readBytes, f.size-at+skip)], int64(at-skip))
		if err == nil && n <= int(skip) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, f.failed(remedy.FileBack, fmt.Sprintf("read back from %d on", at-skip), err)
		}
		p := buf[skip:min(uint64(n), skip+f.pos-pos)]
		see(pos, p)
		pos += uint64(len(p))
	}
	return held, nil
}

// uncache writes the file's pages to the device, and lets the page cache forget them. It does so by
// parts: no signal, and no context, ends an fdatasync of all of it.
func (f *File) uncache(ctx context.Context) error {
	const written = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	for at := uint64(0); at < min(f.pos, f.size); at += readBytes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := unix.SyncFileRange(f.fd, int64(at), readBytes, written); err != nil {
			return f.failed(remedy.FileBack, fmt.Sprintf("sync_file_range from %d on", at), err)
		}
	}
	if err := unix.Fdatasync(f.fd); err != nil {
		return f.failed(remedy.FileBack, "fdatasync", err)
	}
	// Of a file system in memory, the pages are the file.
	_ = unix.Fadvise(f.fd, 0, 0, unix.FADV_DONTNEED)
	return nil
}

func pread(fd int, p []byte, at int64) (n int, err error) {
	for {
		if n, err = unix.Pread(fd, p, at); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
