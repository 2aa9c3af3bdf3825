// SPDX-License-Identifier: MIT

// Package covered lets tests stand files of their own at the place of the kernel's, as lxcfs
// does in containers.
package covered

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Run calls f in a mount namespace of its own, in which each path shows the text given for
// it, a folder none of its files. The path has to exist. f runs on one locked OS thread:
// goroutines that it starts see the kernel's own files, and processes that it starts see the
// covered ones. Needs root; f reports by t.Error, and must not call t.Fatal, which belongs to the
// test's own goroutine.
func Run(t *testing.T, files map[string]string, f func()) {
	t.Helper()
	dir := t.TempDir()
	err := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		e := cover(dir, files)
		if e == nil {
			f()
		}
		err <- e
	}()
	if e := <-err; e != nil {
		t.Fatal(e)
	}
}

func cover(dir string, files map[string]string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("mount", err)
	}
	n := 0
	for path, text := range files {
		n++
		source := filepath.Join(dir, strconv.Itoa(n))
		if err := place(source, path, text); err != nil {
			return err
		}
		if err := unix.Mount(source, path, "", unix.MS_BIND, ""); err != nil {
			return &os.PathError{Op: "mount over", Path: path, Err: err}
		}
	}
	return nil
}

// place makes what is to cover a path: a folder, or a file with a text.
func place(source, path, text string) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return os.Mkdir(source, 0o755)
	}
	return os.WriteFile(source, []byte(text), 0o644)
}
