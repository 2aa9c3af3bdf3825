// SPDX-License-Identifier: MIT

package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tarName names the archive for who has no package manager that we know.
func tarName(version, arch string) string { return fmt.Sprintf("zcbench-%s-linux-%s", version, arch) }

// archive collects what a checkout has after make build and make agents: programs find each other,
// and those for other hosts, beside themselves. It may be unpacked anywhere.
func (j *job) archive(arch string) (*stage, error) {
	s := &stage{dir: filepath.Join(j.work, "stage", "tar-"+arch), built: j.built}
	for _, p := range programs {
		s.program("/bin/"+p, j.binary(arch, p))
	}
	for _, other := range arches {
		for _, p := range carried {
			if other != arch {
				s.program("/bin/agents/linux-"+other+"/"+p, j.binary(other, p))
			}
		}
	}
	sums, err := j.sums()
	s.fail(err)
	s.text("/bin/agents/"+sumsFile, sums)
	if err := j.addPages(s); err != nil {
		return nil, err
	}
	if err := j.addDocs(s); err != nil {
		return nil, err
	}
	for _, name := range []string{"LICENSE", "CHANGELOG.md"} {
		s.text("/"+name, s.read(j.at(name)))
	}
	s.text("/LICENSE-GPL-2.0", s.read(j.at("lab/softnic/LICENSE")))
	for i := range s.entries { // what packages put into the system lies where a checkout has it
		e := &s.entries[i]
		for _, dir := range []string{docDir, shareDir, "/usr/share"} {
			if rest, ok := strings.CutPrefix(e.dst, dir+"/"); ok {
				e.dst = "/" + rest
				break
			}
		}
	}
	return s, s.err
}

// tarball writes the archive of an architecture: the same bytes of the same files.
func (j *job) tarball(arch, out string) (file string, err error) {
	s, err := j.archive(arch)
	if err != nil {
		return "", err
	}
	top := tarName(j.version, arch)
	file = filepath.Join(out, top+".tar.gz")
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	w := tar.NewWriter(z)
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.dst, b.dst) })
	made := map[string]bool{}
	for _, e := range s.entries {
		if err := j.folders(w, path.Dir(top+e.dst), made); err != nil {
			return "", err
		}
		b, err := os.ReadFile(e.src)
		if err == nil {
			err = w.WriteHeader(j.header(top+e.dst, tar.TypeReg, e.mode, int64(len(b))))
		}
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			return "", err
		}
	}
	return file, errors.Join(w.Close(), z.Close())
}

// folders adds those that are above a file, once each.
func (j *job) folders(w *tar.Writer, dir string, made map[string]bool) error {
	if dir == "." || made[dir] {
		return nil
	}
	if err := j.folders(w, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return w.WriteHeader(j.header(dir+"/", tar.TypeDir, 0o755, 0))
}

// header describes a file that root owns.
func (j *job) header(name string, kind byte, mode fs.FileMode, size int64) *tar.Header {
	return &tar.Header{Name: name, Typeflag: kind, Mode: int64(mode), Size: size, ModTime: j.built, Uname: "root",
		Gname: "root", Format: tar.FormatUSTAR}
}

// checksums writes SHA256SUMS of all that was made, as sha256sum -c reads it.
func checksums(out string, made []string) (file string, err error) {
	var text strings.Builder
	for _, p := range made {
		b, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(b), filepath.Base(p))
	}
	file = filepath.Join(out, sumsFile)
	return file, os.WriteFile(file, []byte(text.String()), 0o644)
}
