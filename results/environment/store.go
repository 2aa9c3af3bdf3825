// SPDX-License-Identifier: MIT

package environment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zcbench/zcbench/results"
)

// Dir is the folder of a results folder where the snapshots are, each named by its hash.
const Dir = "environment"

func fileOf(hash string) string { return hash + ".json" }

// Write puts a snapshot into a results folder, where it stays as it is.
func Write(dir string, s *Snapshot) (hash string, err error) {
	if _, err := Parse(s.Encode()); err != nil {
		return "", fmt.Errorf("write the snapshot of a host: %w", err)
	}
	hash = s.Hash()
	at, err := results.Subfolder(dir, Dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(at, fileOf(hash))
	if _, err := os.Lstat(path); err == nil {
		return hash, nil
	}
	return hash, results.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(s.Encode())
		return err
	})
}

// Folder reads the snapshots of a results folder, each once.
type Folder struct {
	dir  string
	read map[string]*Snapshot // nil: it could not be
	errs map[string]error
}

// Open is the results folder dir, of which nothing is read yet.
func Open(dir string) *Folder {
	return &Folder{dir: dir, read: map[string]*Snapshot{}, errs: map[string]error{}}
}

// ErrChanged is a file that is not the one that the records name.
var ErrChanged = errors.New("it is not the file that the runs name: it was changed since")

// Get is the whole snapshot that a hash names, as a record has it.
func (f *Folder) Get(hash string) (*Snapshot, error) {
	if _, known := f.read[hash]; !known {
		f.read[hash], f.errs[hash] = f.whole(hash)
	}
	return f.read[hash], f.errs[hash]
}

func (f *Folder) whole(hash string) (*Snapshot, error) {
	s, err := f.file(hash)
	if err != nil || s.Base == "" {
		return s, err
	}
	base, err := f.file(s.Base)
	if err != nil {
		return nil, err
	}
	return s.On(base)
}

func (f *Folder) file(hash string) (_ *Snapshot, err error) {
	if !IsHash(hash) {
		return nil, fmt.Errorf("%.80q is no hash of a snapshot", hash)
	}
	path := filepath.Join(f.dir, Dir, fileOf(hash))
	defer func() {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	file, err := results.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	s, err := Parse(text)
	if err == nil && s.Hash() != hash {
		s, err = nil, ErrChanged
	}
	return s, err
}
