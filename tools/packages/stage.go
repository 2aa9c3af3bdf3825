// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file or folder of a package.
type entry struct {
	dst  string // where it is installed; a folder ends with a slash
	src  string // a file that has its bytes, mode and time
	mode fs.FileMode
	kind string // for nfpm: dir, license, or ""
}

// stage is what a package has in it.
type stage struct {
	dir     string // of its files
	built   time.Time
	entries []entry
	err     error // the first one
}

// put adds a file.
func (s *stage) put(dst string, b []byte, mode fs.FileMode, kind string) {
	p := filepath.Join(s.dir, dst)
	s.fail(os.MkdirAll(filepath.Dir(p), 0o755))
	s.fail(os.WriteFile(p, b, mode))
	s.fail(errors.Join(os.Chmod(p, mode), os.Chtimes(p, s.built, s.built))) // whatever the umask
	s.entries = append(s.entries, entry{dst, p, mode, kind})
}

// text adds a file with these bytes.
func (s *stage) text(dst string, b []byte) { s.put(dst, b, 0o644, "") }

// program adds a program.
func (s *stage) program(dst, src string) { s.put(dst, s.read(src), 0o755, "") }

// packed adds a file, compressed as Debian wants manual pages and changelogs: at level 9, without
// name and time.
func (s *stage) packed(dst string, b []byte) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	s.fail(err)
	_, err = z.Write(b)
	s.fail(errors.Join(err, z.Close()))
	s.text(dst, out.Bytes())
}

func (s *stage) read(path string) []byte {
	b, err := os.ReadFile(path)
	s.fail(err)
	return b
}

// tree adds those of files, paths below root, that lie in a folder.
func (s *stage) tree(dst, root, folder string, files []string) {
	n := 0
	for _, path := range files {
		if rest, ok := strings.CutPrefix(path, folder+"/"); ok {
			n++
			s.text(dst+"/"+rest, s.read(filepath.Join(root, path)))
		}
	}
	if n == 0 {
		s.fail(fmt.Errorf("%s has no files", folder))
	}
}

// folders adds the folders of the package's own, in which its files lie, and sorts all.
func (s *stage) folders(own ...string) {
	have := map[string]bool{}
	for _, e := range slices.Clone(s.entries) {
		for dir := filepath.Dir(e.dst); dir != "/"; dir = filepath.Dir(dir) {
			mine := slices.ContainsFunc(own, func(o string) bool { return dir == o || strings.HasPrefix(dir, o+"/") })
			if mine && !have[dir] {
				have[dir] = true
				s.entries = append(s.entries, entry{dst: dir + "/", mode: 0o755, kind: "dir"})
			}
		}
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.dst, b.dst) })
}

func (s *stage) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func copyFile(src, dst string, mode fs.FileMode) error {
	b, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(dst, b, mode), os.Chmod(dst, mode))
}
