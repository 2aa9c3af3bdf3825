// SPDX-License-Identifier: MIT

package power

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/zcbench/zcbench/internal/trust"
)

// NVMLHelper is the program that loads NVIDIA's library. A program that loads a
// library cannot be static, which zcbench is, so that it runs on any host and in
// the lab.
const NVMLHelper = "zcnvml"

// NeedsNVMLHelper reports whether any of the sources is read by the helper,
// where nobody says where it is.
func NeedsNVMLHelper(specs []Spec) bool {
	return slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == "nvml" && s.Options.Get("helper") == "" })
}

// nvmlHelper finds the helper that reads a source.
func nvmlHelper(s Spec) (string, error) {
	if p := s.Options.Get("helper"); p != "" {
		return p, nil
	}
	p, err := FindNVMLHelper()
	if p == "" && err == nil {
		err = &unavailable{NVMLHelper + ", which loads NVIDIA's library, is neither next to zcbench nor in " +
			"../lib/zcbench from there nor in PATH",
			"make build, and keep bin/" + NVMLHelper +
				" next to the zcbench that you start: it is copied to ssh hosts too"}
	}
	return p, err
}

// FindNVMLHelper finds the helper on this host: beside this program, where a package has it, or in
// PATH; "" if nowhere. One that another user could change is an error.
func FindNVMLHelper() (string, error) {
	self, err := os.Executable()
	if err == nil {
		for _, dir := range []string{".", "../lib/zcbench"} {
			p := filepath.Join(filepath.Dir(self), dir, NVMLHelper)
			if _, err := os.Stat(p); err == nil {
				return p, runnable(p, self)
			}
		}
	}
	p, err := exec.LookPath(NVMLHelper)
	if err != nil {
		return "", nil
	}
	return p, runnable(p, self)
}

// runnable refuses a helper that another user could change, unless it lies beside
// this program and is of the same owner: who could change the one could change the
// other. So it is under sudo, where both are the calling user's.
func runnable(path, self string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	f, err := trust.Open(real, os.O_RDONLY)
	if err == nil {
		err = trust.Reachable(filepath.Dir(path)) // where a link to it lies
		f.Close()
	}
	var foreign *trust.Error
	if !errors.As(err, &foreign) || beside(real, self) {
		return nil // what cannot be opened says so when it is run
	}
	return &unavailable{NVMLHelper + " may have been put there by another user: " + foreign.Error(), foreign.Fix()}
}

// beside reports whether two files in one folder have one owner, who alone can
// write the first.
func beside(path, self string) bool {
	st, err := os.Stat(path)
	me, serr := os.Stat(self)
	if err != nil || serr != nil || filepath.Dir(path) != filepath.Dir(self) || !st.Mode().IsRegular() {
		return false
	}
	owner := func(st fs.FileInfo) uint32 { return st.Sys().(*syscall.Stat_t).Uid }
	return owner(st) == owner(me) && st.Mode().Perm()&0o022 == 0
}
