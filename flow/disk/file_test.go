// SPDX-License-Identifier: MIT

package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// What begins at a block in the flow, and lies in memory as it does in the flow, goes direct in
// whole blocks; what does not is copied, and so is what would cross the file's end.
func TestNext(t *testing.T) {
	f := &File{direct: 1, size: 3 << 12, grain: 1 << 12, memory: 512}
	for _, x := range []struct {
		pos   uint64
		at, n int
		k     int
		way   Way
	}{
		{0, 0, 4096, 4096, Direct},
		{0, 0, 4095, 4095, Short},
		{0, 512, 4096, 4096, Direct},
		{0, 100, 4096, 4096, Cached},
		{0, 0, 10000, 8192, Direct},
		{4096, 8192, 1 << 20, 8192, Direct}, // up to the end
		{100, 100, 8192, 3996, Cached},      // up to the next block
		{100, 0, 8192, 8192, Cached},        // which never begins where it may
		{12288 + 4095, 4095, 9000, 1, Cached},
		{12288 - 10, 4086, 9000, 10, Cached},
	} {
		f.pos = x.pos
		if k, way := f.Next(x.at, x.n); k != x.k || way != x.way {
			t.Errorf("%+v: %d, %d", x, k, way)
		}
	}
	f.direct = -1
	if k, way := f.Next(0, 8192); k != 10 || way != Cached {
		t.Errorf("without direct writes: %d, %d", k, way)
	}
}

// pattern fills p as byte pos of a flow and on.
func pattern(p []byte, pos uint64) {
	for i := range p {
		p[i] = byte((pos + uint64(i)) * 0x9e3779b97f4a7c15 >> 56)
	}
}

// differ reads a file back and counts what is not as the pattern has it.
func differ(t *testing.T, f *File) (held uint64, wrong int) {
	t.Helper()
	want := make([]byte, readBytes)
	next := f.pos - min(f.pos, f.size)
	held, err := f.ReadBack(t.Context(), func(pos uint64, p []byte) {
		if pos != next {
			t.Errorf("byte %d follows %d", pos, next)
		}
		next += uint64(len(p))
		pattern(want[:len(p)], pos)
		if bytes.Equal(want[:len(p)], p) {
			return
		}
		for i := range p {
			if p[i] != want[i] {
				wrong++
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return held, wrong
}

// folders are where files can be, by whether they can be written past the page cache.
func folders(t *testing.T) map[string]bool {
	return map[string]bool{t.TempDir(): true, inMemory(t): false}
}

// inMemory makes a folder on a tmpfs.
func inMemory(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err == nil {
		return "/dev/shm"
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatalf("there is no /dev/shm, and mounting a tmpfs: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// make1 makes a file of the least size; nil: where this machine has it on what takes no direct
// writes, which is told.
func make1(t *testing.T, dir string, direct bool) *File {
	t.Helper()
	all, err := Make(dir, 1, leastBytes)
	if err != nil {
		t.Fatal(err)
	}
	f := all[0]
	t.Cleanup(func() { f.Close() })
	grain, why := f.Grain()
	switch {
	case direct && grain == 0:
		t.Logf("%s: %s", dir, why)
	case !direct && grain > 0, grain == 0 && why == "":
		t.Errorf("%s is written by blocks of %d: %s", dir, grain, why)
	}
	return f
}

// A flow that is twice as long as its file, in pieces of any size, is there in the end, as it was;
// a byte that something else changes is found, by each way of reading.
func TestWriteAndReadBack(t *testing.T) {
	for dir, direct := range folders(t) {
		f := make1(t, dir, direct)
		if names, err := os.ReadDir(dir); err != nil || direct && len(names) > 0 {
			t.Errorf("%s has %v, %v", dir, names, err)
		}
		mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Munmap(mem)
		ways := map[Way]uint64{}
		for i := uint64(0); f.pos < 2*leastBytes+12345; i++ {
			n := int(1 + i*48271%300000)
			at := int(f.pos % (1 << 20))
			n = min(n, len(mem)-at)
			pattern(mem[at:at+n], f.pos)
			for n > 0 {
				k, way := f.Next(at, n)
				k, err := f.Write(mem[at:at+k], way)
				if err != nil {
					t.Fatal(err)
				}
				ways[way] += uint64(k)
				at, n = at+k, n-k
			}
		}
		if grain, _ := f.Grain(); (ways[Direct] > 0) != (grain > 0) || ways[Cached]+ways[Short] == 0 {
			t.Errorf("%s: %v", dir, ways)
		}
		if held, wrong := differ(t, f); held != leastBytes || wrong > 0 {
			t.Errorf("%s: %d of %d bytes differ", dir, wrong, held)
		}
		t.Logf("%s: %d bytes direct, %d by the page cache", dir, ways[Direct], ways[Cached]+ways[Short])
		spoil(t, f, 777777)
		if _, wrong := differ(t, f); wrong != 1 {
			t.Errorf("%s: %d bytes differ, and one was changed", dir, wrong)
		}
	}
}

// spoil changes a byte of the file.
func spoil(t *testing.T, f *File, at int64) {
	t.Helper()
	b := make([]byte, 1)
	if _, err := unix.Pread(f.fd, b, at); err != nil {
		t.Fatal(err)
	}
	b[0]++
	if _, err := unix.Pwrite(f.fd, b, at); err != nil {
		t.Fatal(err)
	}
}

// What is no folder, or leads to one by a link in any part of the path, gets no file.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	link, file := dir+"/link", dir+"/file"
	if err := errors.Join(os.Symlink(dir, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/folder", 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{link: "symbolic link", link + "/folder": "symbolic link", file: "no folder", dir + "/none": "mkdir",
		"/proc/self": "--then write:DIR"} {
		_, err := Make(path, 1, leastBytes)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(fault.Fix(err), want) {
			t.Errorf("%s: %v; %s", path, err, fault.Fix(err))
		}
	}
}

// Each errno that the kernel may give has the table's words, and names the folder.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	made := func() error {
		files, err := Make(dir, 1, leastBytes)
		if err == nil {
			err = files[0].Close()
		}
		return err
	}
	remedytest.Try(t, remedy.FileMade, dir, remedytest.Denied(unix.SYS_OPENAT2, made))
	remedytest.Try(t, remedy.FileWritten, dir, remedytest.Denied(unix.SYS_FALLOCATE, made), unix.EOPNOTSUPP, unix.EINTR)
	f := make1(t, dir, true)
	write := func() error {
		_, err := f.Write(make([]byte, 100), Cached)
		return err
	}
	remedytest.Try(t, remedy.FileWritten, fmt.Sprintf("pwrite 100 bytes at %d (a file in %s)", f.Offset(), dir),
		remedytest.Denied(unix.SYS_PWRITE64, write), unix.EINTR)
	if err := write(); err != nil {
		t.Fatal(err)
	}
	back := func() error {
		_, err := f.ReadBack(t.Context(), func(uint64, []byte) {})
		return err
	}
	remedytest.Try(t, remedy.FileBack, dir, remedytest.Denied(unix.SYS_PREAD64, back), unix.EINTR)
}
