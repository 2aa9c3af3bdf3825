// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// debPackage is one paragraph of a Debian Packages index
// (deb822 format, see deb-control(5)).
type debPackage struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"` // bytes
}

// What package lists and apt say becomes arguments and paths: names that could be
// taken for an option or lead elsewhere are refused (Debian policy 5.6.1, 5.6.12).
var (
	packageName    = lazy.Regexp(`^[a-z0-9][a-z0-9+.-]+$`)
	packageVersion = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z.+~:-]*$`)
	archiveName    = lazy.Regexp(`^[a-z0-9][0-9A-Za-z.+~%_-]*\.deb$`)
	sha256Hex      = lazy.Regexp(`^[0-9a-f]{64}$`)
	kernelRelease  = lazy.Regexp(`^[0-9]+\.[0-9]+\.[0-9]+\+[0-9A-Za-z.~+]+-amd64$`)
)

// check refuses a package that cannot be one of Debian's.
func (p debPackage) check() error {
	switch {
	case !packageName().MatchString(p.Name):
		return fmt.Errorf("bad package name %q", p.Name)
	case !packageVersion().MatchString(p.Version):
		return fmt.Errorf("package %s: bad version %q", p.Name, p.Version)
	case !sha256Hex().MatchString(p.SHA256):
		return fmt.Errorf("package %s: bad SHA-256 %q", p.Name, p.SHA256)
	}
	return nil
}

// archiveFile is one .deb: its name in the archives folder, its size in bytes and
// its hash, from apt-get --print-uris: 'URI' NAME SIZE SHA256:HASH.
type archiveFile struct {
	Name   string
	Size   int64
	SHA256 string
}

func parseURIs(out string) ([]archiveFile, error) {
	var files []archiveFile
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[0], "'") {
			continue
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil || size < 0 {
			return nil, fmt.Errorf("apt-get --print-uris: bad size in %q", line)
		}
		sum := strings.TrimPrefix(f[len(f)-1], "SHA256:")
		if !archiveName().MatchString(f[1]) || !sha256Hex().MatchString(sum) {
			return nil, fmt.Errorf("apt-get --print-uris: bad name or hash in %q", line)
		}
		files = append(files, archiveFile{f[1], size, sum})
	}
	if len(files) == 0 {
		return nil, errors.New("apt-get --print-uris named no file")
	}
	return files, nil
}

// parsePackages reads a Packages index. Continuation lines and other fields
// are skipped.
func parsePackages(r io.Reader) ([]debPackage, error) {
	var all []debPackage
	var p debPackage
	flush := func() {
		if p.Name != "" {
			all = append(all, p)
		}
		p = debPackage{}
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		if line == "" {
			flush()
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok || line[0] == ' ' {
			continue
		}
		switch key {
		case "Package":
			p.Name = value
		case "Version":
			p.Version = value
		case "SHA256":
			p.SHA256 = value
		case "Size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("packages index: %s: bad Size %q", p.Name, value)
			}
			p.Size = n
		}
	}
	flush()
	return all, s.Err()
}

// kernelImage matches the packages that hold a bootable image and nothing
// else: signed, or not yet signed.
var kernelImage = lazy.Regexp(`^linux-binary-(unsigned-)?(\d+)\.(\d+)\.(\d+)\+([0-9A-Za-z.~+]+)-amd64$`)

// newestKernel picks the newest 7.x (or later) kernel that has an image and the
// headers to build a module for it. Variants (cloud, rt) do not match.
func newestKernel(all []debPackage) (release string, image debPackage, err error) {
	headers := map[string]bool{}
	for _, p := range all {
		if r, ok := strings.CutPrefix(p.Name, "linux-headers-"); ok {
			headers[r] = true
		}
	}
	var best [3]int
	for _, p := range all {
		m := kernelImage().FindStringSubmatch(p.Name)
		if m == nil {
			continue
		}
		v := [3]int{atoi(m[2]), atoi(m[3]), atoi(m[4])}
		rel := fmt.Sprintf("%d.%d.%d+%s-amd64", v[0], v[1], v[2], m[5])
		if v[0] < 7 || !headers[rel] || less(v, best) {
			continue
		}
		// Of the same kernel, signed and unsigned images are equally good.
		best, release, image = v, rel, p
	}
	if release == "" {
		return "", image, fmt.Errorf("no kernel 7.0 or later with headers among %d packages", len(all))
	}
	return release, image, nil
}

func less(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// atoi converts digits, as a regular expression has already found them to be.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
