// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
)

// FS is where the kernel's files are read: /proc and /sys, or a fixture. The
// zero value is the running host.
type FS struct {
	proc, sys string
}

// NewFS returns an FS rooted at the given proc and sys folders. It fails when
// either is not a folder.
func NewFS(proc, sys string) (FS, error) {
	for _, dir := range []string{proc, sys} {
		st, err := os.Stat(dir)
		if err != nil {
			return FS{}, fmt.Errorf("open kernel files: %w: mount it", err)
		}
		if !st.IsDir() {
			return FS{}, fmt.Errorf("open kernel files: %s is not a folder: name the mount point", dir)
		}
	}
	return FS{proc: proc, sys: sys}, nil
}

func (fs FS) procPath(elem ...string) string {
	root := fs.proc
	if root == "" {
		root = procfs.DefaultMountPoint
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

func (fs FS) sysPath(elem ...string) string {
	root := fs.sys
	if root == "" {
		root = "/sys"
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// live reports whether this is the running host and not a fixture, so that
// system calls may complete what files say.
func (fs FS) live() bool { return fs.proc == "" || fs.proc == procfs.DefaultMountPoint }

func (fs FS) procfs() (procfs.FS, error) { return procfs.NewFS(fs.procPath()) }

// line returns a small file without surrounding space, "" when it cannot be
// read.
func line(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
