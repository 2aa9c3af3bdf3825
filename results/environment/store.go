// SPDX-License-Identifier: MIT

// Package environment keeps the snapshots of hosts (machine/survey) as files of a results folder,
// which records name by their hashes.
package environment

import (
	"fmt"
	"io"

	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/results"
)

// Dir is the folder of a results folder where the snapshots are, each named by its hash.
const Dir = "environment"

func fileOf(hash string) string { return Dir + "/" + hash + ".json" }

// Write puts a snapshot into a results folder, where it stays as it is.
func Write(in *results.Folder, s *survey.Snapshot) (hash string, err error) {
	if _, err := survey.Parse(s.Encode()); err != nil {
		return "", fmt.Errorf("write the snapshot of a host: %w", err)
	}
	hash = s.Hash()
	if in.Has(fileOf(hash)) {
		return hash, nil
	}
	return hash, in.Write(fileOf(hash), func(w io.Writer) error {
		_, err := w.Write(s.Encode())
		return err
	})
}

// How much of a folder is looked at. The largest plan has 10,000 cells of two hosts, each with a
// change of some hundred bytes; a folder that came from elsewhere may have anything.
const (
	mostFiles = 25_000
	mostBytes = 64 << 20
)

// Folder reads the snapshots of a results folder, each file once.
type Folder struct {
	in    *results.Folder
	err   error              // why it could not be opened
	read  map[string]outcome // by hash
	files int                // that may still be read
	bytes int                // that may still be read
}

// outcome is what reading a file came to.
type outcome struct {
	snapshot *survey.Snapshot
	err      error
}

// Of wraps a results folder and reads nothing of it yet.
func Of(in *results.Folder) *Folder {
	return &Folder{in: in, read: map[string]outcome{}, files: mostFiles, bytes: mostBytes}
}

// Open does what [Of] does, for the results folder dir. If that cannot be opened, nothing of it can
// be read.
func Open(dir string) *Folder {
	in, err := results.OpenFolder(dir)
	f := Of(in)
	f.err = err
	return f
}

// Check refuses a results folder whose snapshots are somewhere else, by a link.
func Check(in *results.Folder) error {
	if !in.Has(Dir) {
		return nil
	}
	return in.Subfolder(Dir)
}

// errMany is what is left of a folder that has more than anybody looks at.
var errMany = fmt.Errorf("the folder has more than %d snapshots or %d MiB of them: this one is not read", mostFiles,
	mostBytes>>20)

// Find looks up the snapshot that a hash names, as a record has it.
func (f *Folder) Find(hash string) (survey.Found, error) {
	s, err := f.file(hash)
	if err != nil || s.Base == "" {
		return survey.Found{Base: s}, err
	}
	base, err := f.file(s.Base)
	if err == nil && base.Base != "" {
		err = survey.NotAChange(hash, s.Base)
	}
	if err != nil {
		return survey.Found{}, err
	}
	return survey.Found{Base: base, Change: s}, nil
}

// Get returns what [Folder.Find] finds, as a whole snapshot of its own.
func (f *Folder) Get(hash string) (*survey.Snapshot, error) {
	found, err := f.Find(hash)
	if err != nil {
		return nil, err
	}
	return found.Whole(), nil
}

// file reads a file of the folder, unless that was done.
func (f *Folder) file(hash string) (*survey.Snapshot, error) {
	if o, known := f.read[hash]; known {
		return o.snapshot, o.err
	}
	if f.err != nil {
		return nil, f.err
	}
	if f.files <= 0 || f.bytes <= 0 {
		return nil, errMany
	}
	s, n, err := readFile(f.in, hash)
	f.files, f.bytes = f.files-1, f.bytes-n
	f.read[hash] = outcome{s, err}
	return s, err
}

// readFile reads the snapshot of a folder that a hash names, a file of n bytes.
func readFile(in *results.Folder, hash string) (s *survey.Snapshot, n int, err error) {
	if !survey.IsHash(hash) {
		return nil, 0, fmt.Errorf("%.80q is not a hash of a snapshot", hash)
	}
	file, err := in.Open(fileOf(hash))
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", file.Name(), err)
		}
	}()
	text, err := io.ReadAll(io.LimitReader(file, survey.MaxBytes+1))
	if err != nil {
		return nil, len(text), err
	}
	s, err = survey.ParseNamed(text, hash)
	return s, len(text), err
}
