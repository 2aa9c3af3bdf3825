// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/internal/helper"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/trust"
)

// unusedTime is how long a program on an ssh host may lie there without a start,
// each of which touches its folder.
const unusedTime = 30 * 24 * time.Hour

// programDir is the name of a program's folder: its SHA-256.
var programDir = lazy.Regexp(`^[0-9a-f]{64}$`)

// partPrefix begins the names of programs that are being copied.
const partPrefix = ".part."

// RemoveUnused removes programs that were not started for a month, and returns
// their names. dir must be the folder of ours that keeps them on an ssh host; what
// in it is not a program of ours, of this user, in a folder with nothing else in
// it, stays.
func RemoveUnused(dir string, now time.Time) (removed []string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if filepath.Base(dir) != ownDir && !strings.HasSuffix(dir, "/zcbench/agent") {
		return nil, fmt.Errorf("%s is not a folder in which zcbench keeps programs", dir)
	}
	if err := trust.Dir(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !programDir().MatchString(e.Name()) || !e.IsDir() {
			continue
		}
		was, rerr := removeProgram(root, e.Name(), now)
		if was {
			removed = append(removed, e.Name())
		}
		err = errors.Join(err, rerr)
	}
	return removed, err
}

// removeProgram removes the program in a folder of root, file by file, if it is
// unused.
func removeProgram(root *os.Root, name string, now time.Time) (removed bool, err error) {
	st, err := root.Lstat(name)
	if err != nil || !st.IsDir() || !mine(st) || now.Sub(st.ModTime()) < unusedTime {
		return false, err
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	files, err := fs.ReadDir(sub.FS(), ".")
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if st, err := sub.Lstat(f.Name()); err != nil || !ourFile(f.Name()) || !st.Mode().IsRegular() || !mine(st) {
			return false, err
		}
	}
	for _, f := range files {
		if err := sub.Remove(f.Name()); err != nil {
			return false, err
		}
	}
	return true, root.Remove(name)
}

// ourFile reports whether a file in a program's folder can be of our making: the
// program, what [Host.Carry] brought, or either not yet whole.
func ourFile(name string) bool {
	return name == "zcbench" || slices.Contains(helper.Names, name) || strings.HasPrefix(name, partPrefix)
}

func mine(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
