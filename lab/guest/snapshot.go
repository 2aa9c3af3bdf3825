// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// snapshot is what a file system holds before the first job. The machine's root is
// one in memory with some dozens of files.
type snapshot map[string]fileState

// fileState tells whether a file is still the same.
type fileState struct {
	mode  uint32
	inode uint64
	owner uint32
	size  int64     // of a file
	mtime time.Time // of a file
}

// inMemory returns an error unless root is on a file system in memory. What a job leaves
// below the root is removed: that is a guest's alone to do, never a host's.
func inMemory(root string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: root, Err: err}
	}
	if st.Type != unix.RAMFS_MAGIC && st.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("%s is on a file system of type %#x, not in memory: this is not a guest of the lab", root,
			st.Type)
	}
	return nil
}

// takeSnapshot notes all below root that is on its file system.
func takeSnapshot(root string) (snapshot, error) {
	s := snapshot{}
	err := walkOne(root, func(path string, st *unix.Stat_t) error {
		s[path] = stateOf(st)
		return nil
	})
	return s, err
}

// restore removes what was not there. What was there and has changed cannot be
// brought back, and is an error.
func (s snapshot) restore(root string) error {
	var extra []string
	var errs []error
	there := 0
	err := walkOne(root, func(path string, st *unix.Stat_t) error {
		was, known := s[path]
		switch {
		case !known:
			extra = append(extra, path)
		case was != stateOf(st):
			errs = append(errs, fmt.Errorf("%s has changed", path))
			fallthrough
		default:
			there++
		}
		return nil
	})
	if there != len(s) {
		errs = append(errs, fmt.Errorf("%d files of the machine are gone", len(s)-there))
	}
	leftFirst(extra)
	for _, p := range extra {
		errs = append(errs, os.Remove(p))
	}
	return errors.Join(append(errs, err)...)
}

func stateOf(st *unix.Stat_t) fileState {
	f := fileState{mode: st.Mode, inode: st.Ino, owner: st.Uid}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		f.size, f.mtime = st.Size, time.Unix(st.Mtim.Unix())
	}
	return f
}

// walkOne calls f for all below root that is on root's file system.
func walkOne(root string, f func(path string, st *unix.Stat_t) error) error {
	var top unix.Stat_t
	if err := unix.Lstat(root, &top); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &fs.PathError{Op: "lstat", Path: path, Err: err}
		}
		if st.Dev != top.Dev {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return f(path, &st)
	})
}
