// SPDX-License-Identifier: MIT

package lease

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/tune"
	"golang.org/x/sys/unix"
)

// errNoNetns is a network namespace that does not exist any more.
var errNoNetns = errors.New("the network namespace is gone, and its settings with it")

// notOne are what a path answers that leads to no network namespace any more, or to none that
// this process may look at.
var notOne = []unix.Errno{unix.ENOENT, unix.ESRCH, unix.ENOTDIR, unix.EINVAL, unix.EACCES}

// listNamespaces is namespaces; tests list others.
var listNamespaces = namespaces

// inNetns does f in the network namespace with a cookie: on this thread if that is
// in it, or cookie is 0, else on one of its own.
func inNetns(cookie uint64, f func() error) error {
	if cookie == 0 {
		return f()
	}
	here, err := netnsCookie()
	if err != nil {
		return err
	}
	if here == cookie {
		return f()
	}
	var unseen error
	for _, path := range listNamespaces() {
		found := false
		err := tune.InNetns(path, func() error {
			there, err := netnsCookie()
			if err != nil || there != cookie {
				return err
			}
			found = true
			return f()
		})
		if found {
			return err
		}
		if errors.Is(err, unix.EPERM) {
			return err
		}
		if err != nil && !slices.ContainsFunc(notOne, func(e unix.Errno) bool { return errors.Is(err, e) }) {
			unseen = err
		}
	}
	if unseen != nil { // it may be the one
		return unseen
	}
	return errNoNetns
}

// namespaces lists paths of all network namespaces that can be found: those with
// a name or mounted elsewhere, those of processes, and those that a process only
// has open. Each is listed once, by its inode.
func namespaces() []string {
	var out []string
	seen := map[uint64]bool{}
	add := func(path string) {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil && !seen[st.Ino] {
			seen[st.Ino] = true
			out = append(out, path)
		}
	}
	mounted, _ := filepath.Glob("/run/netns/*")
	for _, m := range slices.Concat(mounted, mountedNamespaces()) {
		add(m)
	}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		add(p + "/ns/net")
	}
	for _, p := range procs {
		fds, _ := os.ReadDir(p + "/fd")
		for _, fd := range fds {
			path := filepath.Join(p, "fd", fd.Name())
			if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, "net:[") {
				add(path)
			}
		}
	}
	return out
}

// mountedNamespaces lists the mount points of namespace files (/proc/self/mountinfo,
// proc_pid_mountinfo(5)).
func mountedNamespaces() []string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) > 4 && strings.HasPrefix(w[3], "net:[") {
			out = append(out, w[4])
		}
	}
	return out
}
