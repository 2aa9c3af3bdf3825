// SPDX-License-Identifier: MIT

package trust

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Tree checks a folder as [Dir] does, and everything below it: the effective
// user's, and writable by nobody else. Symbolic links have no mode, and a sticky
// folder (a tmp) may be written by all: what is in it is the user's all the same.
// Entries for which skip is true of their path below dir are left out, with what is
// in them. What is gone meanwhile is no error.
func Tree(dir string, skip func(rel string) bool) error {
	if err := Dir(dir); err != nil {
		return err
	}
	_, dir, err := walk(dir) // filepath.WalkDir follows no link, not even the first
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		if path != dir && skip != nil && skip(path[len(dir)+1:]) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		st, err := d.Info()
		if err != nil {
			return gone(err)
		}
		return inTree(path, st)
	})
}

// inTree checks one entry.
func inTree(path string, st fs.FileInfo) error {
	if st.Mode()&fs.ModeSymlink != 0 || st.IsDir() && sticky(st) {
		return owned(path, st)
	}
	return own(path, st)
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
