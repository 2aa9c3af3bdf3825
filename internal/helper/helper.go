// SPDX-License-Identifier: MIT

// Package helper finds the programs beside zcbench that load a vendor's library: a program that
// loads one cannot be static, which zcbench is, so that it runs on any host and in the lab.
package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/trust"
	"golang.org/x/sys/unix"
)

// The helpers.
const (
	NVML = "zcnvml" // what NVIDIA GPUs draw
	GPU  = "zcgpu"  // memory of GPUs
)

// Names are all of them.
var Names = []string{NVML, GPU}

// Find finds a helper on this host: beside this program, where a package has it, or in PATH; "" if
// nowhere. It returns the path without links. A helper that another user could change is an error.
func Find(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		for _, dir := range []string{".", "../lib/zcbench"} {
			p := filepath.Join(filepath.Dir(self), dir, name)
			if _, err := os.Stat(p); err == nil {
				return runnable(p, self)
			}
		}
	}
	p, err := exec.LookPath(name)
	if err != nil {
		return "", nil
	}
	return runnable(p, "")
}

// Finder returns what finds a helper, as Find does.
func Finder(name string) func() (string, error) {
	return func() (string, error) { return Find(name) }
}

// Open finds a helper and opens it, to be run by its descriptor: what was checked is what runs.
func Open(name string) (*os.File, error) {
	path, err := Find(name)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, Missing(name)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	self, _ := os.Executable()
	if err := trust.File(f); err != nil && !beside(f.Stat, path, self) {
		f.Close()
		return nil, foreign(name, err)
	}
	return f, nil
}

// Missing is the error of a helper that is nowhere.
func Missing(name string) error {
	return &fault.Error{Op: name + ", which loads the vendor's library, is neither next to zcbench nor in " +
		"../lib/zcbench from there nor in PATH",
		How: "make build, and keep bin/" + name + " next to the zcbench that you start: it is copied to ssh hosts too"}
}

// runnable refuses a helper that another user could change, unless it was found beside this program
// self and is of the same owner: who could change the one could change the other. So it is under
// sudo, where both are the calling user's. self is "" where the helper was found elsewhere: a link
// to what lies beside this program may be anybody's. It returns the path without links, which
// nobody else can lead elsewhere.
func runnable(path, self string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	f, err := trust.Open(real, os.O_RDONLY)
	if err == nil {
		err = trust.Reachable(path) // where a link to it lies
		f.Close()
	}
	if !trust.Untrusted(err) ||
		self != "" && beside(func() (fs.FileInfo, error) { return os.Stat(real) }, real, self) {
		return real, nil // what cannot be opened says so when it is run
	}
	return "", foreign(filepath.Base(path), err)
}

// foreign words why a helper is not run.
func foreign(name string, err error) error {
	return &fault.Error{Op: fmt.Sprintf("%s may have been put there by another user: %v", name, err),
		How: fault.Fix(err)}
}

// beside reports whether a file and this program, in one folder, have one owner, who alone can
// write the first.
func beside(stat func() (fs.FileInfo, error), path, self string) bool {
	st, err := stat()
	me, serr := os.Stat(self)
	if errors.Join(err, serr) != nil || filepath.Dir(path) != filepath.Dir(self) || !st.Mode().IsRegular() {
		return false
	}
	owner := func(st fs.FileInfo) uint32 { return st.Sys().(*syscall.Stat_t).Uid }
	return owner(st) == owner(me) && st.Mode().Perm()&0o022 == 0
}
