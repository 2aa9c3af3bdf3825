// SPDX-License-Identifier: MIT

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unpackedAt is where files of a package lie in the archive, which is unpacked anywhere: as in a
// checkout, with the agents beside the programs. The first that fits is taken.
var unpackedAt = []struct{ from, to string }{
	{"/usr/bin/", ""}, {libDir + "/", ""}, {docDir + "/", ""}, {shareDir + "/", ""}, {licenseDir + "/", ""},
	{"/usr/share/man/", "man/"}, {"/usr/share/bash-completion/completions/", "completions/bash/"},
	{"/usr/share/zsh/vendor-completions/", "completions/zsh/"},
	{"/usr/share/fish/vendor_completions.d/", "completions/fish/"},
}

// tarballName is the name of the archive, and of the folder in it.
func tarballName(version, arch string) string { return "zcbench-" + version + "-linux-" + arch }

// tarball makes an archive with what a package has, for hosts that have neither of the formats, and
// returns its path.
func (j *job) tarball(arch, out string) (string, error) {
	version, err := sortable(j.version)
	if err != nil {
		return "", err
	}
	s, err := j.contents(arch, "tar")
	if err != nil {
		return "", err
	}
	name := tarballName(version, arch)
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	t := tar.NewWriter(z)
	all, err := unpackedEntries(s.entries)
	for _, e := range all {
		err = errors.Join(err, j.archived(t, name, e))
	}
	target := filepath.Join(out, name+".tar.gz")
	if err = errors.Join(err, t.Close(), z.Close()); err == nil {
		err = os.WriteFile(target, b.Bytes(), 0o644)
	}
	return target, err
}

// unpackedEntries lists the files of a package by where they lie in the archive, in order.
func unpackedEntries(entries []entry) (out []entry, err error) {
	for _, e := range entries {
		if e.src == "" {
			continue // a folder: unpacking makes it
		}
		i := slices.IndexFunc(unpackedAt, func(x struct{ from, to string }) bool {
			return strings.HasPrefix(e.dst,
				x.from)
		})
		if i < 0 {
			return nil, fmt.Errorf("%s has no place in the archive", e.dst)
		}
		e.dst = unpackedAt[i].to + strings.TrimPrefix(e.dst, unpackedAt[i].from)
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.dst, b.dst) })
	for i := range out[:max(0, len(out)-1)] {
		if out[i].dst == out[i+1].dst {
			return nil, fmt.Errorf("%s is twice in the archive", out[i].dst)
		}
	}
	return out, nil
}

// archived adds a file: of root, of the time of all others.
func (j *job) archived(t *tar.Writer, folder string, e entry) error {
	text, err := os.ReadFile(e.src)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: folder + "/" + e.dst, Typeflag: tar.TypeReg, Mode: int64(e.mode.Perm()),
		Size:    int64(len(text)),
		ModTime: j.built, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = t.Write(text)
	return err
}

// sumUp writes the checksums of what was made beside it, as sha256sum --check reads them.
func sumUp(made []string, out string) (string, error) {
	var b bytes.Buffer
	for _, path := range made {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), filepath.Base(path))
	}
	target := filepath.Join(out, sumsFile)
	return target, os.WriteFile(target, b.Bytes(), 0o644)
}
