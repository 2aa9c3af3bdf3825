// SPDX-License-Identifier: MIT

package disk

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/denied"
	"golang.org/x/sys/unix"
)

// However many files there are, half of what is free stays so; files that would be too short are
// not made, and none is left open.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=256m"); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	free := func() uint64 {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		return st.Bavail * uint64(st.Bsize)
	}
	for _, n := range []int{1, 8, 32} {
		files, err := Make(dir, n, MostBytes)
		if err != nil || len(files) != n {
			t.Fatalf("%d files: %d, %v", n, len(files), err)
		}
		if left := free(); left != 128<<20 {
			t.Errorf("%d files leave %d bytes", n, left)
		}
		for _, f := range files {
			if f.size != 128<<20/uint64(n) {
				t.Errorf("one of %d files is %d bytes long", n, f.size)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := Make(dir, 33, MostBytes); err == nil || !strings.Contains(err.Error(),
		"make 33 files of 4 MiB in half of the 256 MiB that are free") || free() != 256<<20 {
		t.Errorf("%v; %d bytes are free", err, free())
	}
}

// A tmpfs may promise more than the machine's memory: not more than half of that is taken.
func TestShareOfMemory(t *testing.T) {
	if all, short := ofMemory(1<<50, leastBytes); all >= 1<<50 || all < leastBytes || short != "" {
		t.Errorf("%d bytes of memory, %q", all, short)
	}
	if all, short := ofMemory(1<<50, 1<<49); all >= 1<<49 || !strings.Contains(short, "has ") {
		t.Errorf("%d bytes of memory, %q", all, short)
	}
	if all, short := ofMemory(leastBytes, leastBytes); all != leastBytes || short != "" {
		t.Errorf("%d bytes of memory, %q", all, short)
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1p"); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	f, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if each, err := f.share(1, 1<<60); err != nil || each < leastBytes || each >= 1<<49 {
		t.Errorf("%d bytes of a tmpfs of 1 PiB, %v", each, err)
	}
}

// What is told to end while a file's pages are written back does not wait for all of them.
func TestReadBackEnds(t *testing.T) {
	f := make1(t, inMemory(t), false)
	if _, err := f.Write(make([]byte, 1<<20), Cached); err != nil {
		t.Fatal(err)
	}
	over := errors.New("it is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	var err error
	if err := denied.Run(unix.SYS_FDATASYNC, unix.EIO, func() {
		_, err = f.ReadBack(ctx, func(uint64, []byte) { t.Error("it is read") })
	}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, over) {
		t.Error(err)
	}
}
