package trust

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Tree checks a folder as [Dir] does, and everything below it: the effective
// user's, and writable by nobody else. Symbolic links have no mode, and a sticky
// folder (a tmp) may be written by all: what is in it is the user's all the same.
// Folders for which skip is true are checked themselves, not what is in them.
// What is gone meanwhile is no error.
func Tree(dir string, skip func(path string) bool) error {
	if err := Dir(dir); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return gone(err)
		}
		st, err := d.Info()
		if err != nil {
			return gone(err)
		}
		if err := inTree(path, st); err != nil {
			return err
		}
		if d.IsDir() && skip != nil && skip(path) {
			return fs.SkipDir
		}
		return nil
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
