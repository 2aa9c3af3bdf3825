// SPDX-License-Identifier: MIT

package counter

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
)

// FS is where the kernel's files are read: /proc and /sys, or a fixture. The
// zero value is the running host.
type FS struct {
	proc, sys string
	thread    string // below proc, whose network namespace is read; "": the caller's
}

// OfThread returns an FS whose counters of a network namespace are those of a thread's of this
// process; 0: the caller's.
func (fs FS) OfThread(tid int) FS {
	if tid != 0 {
		fs.thread = fmt.Sprintf("self/task/%d", tid)
	}
	return fs
}

// netPath is where a file of the network namespace is: /proc/self would be that of the process's
// first thread.
func (fs FS) netPath(file string) string {
	return fs.procPath(cmp.Or(fs.thread, "thread-self"), file)
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

// procfs opens the library that reads the files of processes, and the named files below /proc. The
// library opens them itself, so procfs checks them first; see [kernelfile]. A /proc of another PID
// namespace would show other processes.
func (fs FS) procfs(files ...string) (procfs.FS, error) {
	for _, f := range files {
		if err := kernelfile.Check(fs.procPath(f)); err != nil {
			return procfs.FS{}, err
		}
	}
	if fs.live() && len(files) == 0 {
		if err := kernelfile.CheckPIDs(fs.procPath()); err != nil {
			return procfs.FS{}, err
		}
	}
	return procfs.NewFS(fs.procPath())
}

// mounted adds to the error of a file below /proc, or /sys, what to do about it.
func mounted(err error) error {
	if fix := fault.Fix(err); fix != "" {
		return fmt.Errorf("%w: %s", err, fix)
	}
	return fmt.Errorf("%w: mount /proc and /sys, without subset=pid", err)
}

// line returns a small file without surrounding space, "" when it cannot be
// read, or is not the kernel's.
func line(path string) string {
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
