// SPDX-License-Identifier: MIT

package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zcbench/zcbench/internal/cmdline"
	"golang.org/x/sys/unix"
)

// Error is a path that another user could have changed.
type Error struct {
	Path string // the part of the path that is at fault
	Why  string
	How  string
}

func (e *Error) Error() string { return fmt.Sprintf("%s %s", e.Path, e.Why) }

// Fix advises what the user can do about it.
func (e *Error) Fix() string { return e.How }

// maxLinks is how many symbolic links the kernel follows (path_resolution(7)).
const maxLinks = 40

// Dir checks that the folder at path is the effective user's and writable by
// nobody else, and that nobody else can put another in its place.
func Dir(path string) error {
	st, real, err := walk(path)
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return &Error{real, "is not a folder", "name a folder"}
	}
	return own(real, st)
}

// Reachable checks that nobody but root and the effective user can put anything
// else in the place of path, which may be root's.
func Reachable(path string) error {
	_, _, err := walk(path)
	return err
}

// MkdirAll makes a folder that is the effective user's alone, with the parents
// that it lacks, and checks it as [Dir] does. One that is there keeps its mode.
// Below a folder that cannot be trusted it makes nothing.
func MkdirAll(path string, mode fs.FileMode) error {
	if err := ground(path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, mode&^0o022); err != nil {
		return err
	}
	return Dir(path)
}

// ground checks the folder in which the first part of path that is not there
// would be made.
func ground(path string) error {
	for {
		st, real, err := walk(path)
		switch up := filepath.Dir(path); {
		case errors.Is(err, fs.ErrNotExist) && up != path:
			path = up
		case err != nil:
			return err
		default:
			return parent(real, st)
		}
	}
}

// Open opens a file that is the effective user's or root's, writable by nobody
// else, and can be replaced by nobody else. Its last part may not be a symbolic
// link.
func Open(path string, flag int) (*os.File, error) {
	if err := Reachable(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag&^os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := File(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// File checks an open file: regular, the effective user's or root's, and
// writable by nobody else.
func File(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return &Error{f.Name(), "is not a regular file", "remove it"}
	}
	uid, _ := owner(st)
	if !mine(uid) {
		return foreign(f.Name(), uid)
	}
	return alone(f.Name(), st)
}

// walk follows path from the root, and refuses it where a part of it could be
// replaced by another user. It returns what is there and its path without links.
func walk(path string) (fs.FileInfo, string, error) {
	if !filepath.IsAbs(path) {
		wd, err := os.Getwd()
		if err != nil {
			return nil, "", err
		}
		path = wd + "/" + path
	}
	w := walker{todo: strings.Split(path, "/")}
	for err := w.from("/"); ; err = w.step() {
		if err != nil || len(w.todo) == 0 {
			return w.st, w.at, err
		}
	}
}

// walker is on its way through a path.
type walker struct {
	at    string // without links
	st    fs.FileInfo
	todo  []string
	links int
}

func (w *walker) from(path string) (err error) {
	w.at = path
	w.st, err = os.Lstat(path)
	return err
}

// step goes into the next part.
func (w *walker) step() error {
	name := w.todo[0]
	w.todo = w.todo[1:]
	if name == "" || name == "." {
		return nil
	}
	if err := parent(w.at, w.st); err != nil {
		return err
	}
	if name == ".." {
		return w.from(filepath.Dir(w.at))
	}
	next := filepath.Join(w.at, name)
	entry, err := os.Lstat(next)
	if err != nil {
		return err
	}
	if uid, _ := owner(entry); sticky(w.st) && !mine(uid) && !system(uid) {
		return foreign(next, uid)
	}
	if entry.Mode()&fs.ModeSymlink == 0 {
		w.at, w.st = next, entry
		return nil
	}
	return w.follow(next)
}

func (w *walker) follow(link string) error {
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "follow", Path: link, Err: unix.ELOOP}
	}
	target, err := os.Readlink(link)
	if err != nil {
		return err
	}
	w.todo = append(strings.Split(target, "/"), w.todo...)
	if filepath.IsAbs(target) {
		return w.from("/")
	}
	return nil
}

// parent checks a folder on the way.
func parent(path string, st fs.FileInfo) error {
	if !st.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: unix.ENOTDIR}
	}
	if uid, _ := owner(st); !mine(uid) && !system(uid) {
		return foreign(path, uid)
	}
	if sticky(st) {
		return nil
	}
	return alone(path, st)
}

// own checks the folder itself.
func own(path string, st fs.FileInfo) error {
	if err := owned(path, st); err != nil {
		return err
	}
	return alone(path, st)
}

// owned checks that it is the effective user's.
func owned(path string, st fs.FileInfo) error {
	if uid, _ := owner(st); int(uid) != os.Geteuid() {
		return foreign(path, uid)
	}
	return nil
}

// alone checks that only the owner can write.
func alone(path string, st fs.FileInfo) error {
	uid, gid := owner(st)
	mode := st.Mode().Perm()
	switch {
	case mode&0o002 != 0:
		return &Error{path, fmt.Sprintf("is writable by everybody (mode %04o)", mode),
			"chmod o-w " + cmdline.Word(path)}
	case mode&0o020 != 0 && gid != uid:
		return &Error{path, fmt.Sprintf("is writable by group %d (mode %04o)", gid, mode),
			"chmod g-w " + cmdline.Word(path)}
	case mode&0o020 != 0 && listed(path):
		return &Error{path, fmt.Sprintf("is writable by others through its access list (mode %04o)", mode),
			"setfacl -b " + cmdline.Word(path)}
	}
	return nil
}

// listed reports whether a path has an access list, whose most permissions are then
// what the mode says of the group (acl(5)).
func listed(path string) bool {
	_, err := unix.Lgetxattr(path, "system.posix_acl_access", nil)
	return err == nil
}

func foreign(path string, uid uint32) error {
	return &Error{path, fmt.Sprintf("belongs to user %d, but this is user %d", uid, os.Geteuid()),
		fmt.Sprintf("find out who put it there; if you trust it: chown %d %s", os.Geteuid(), cmdline.Word(path))}
}

func sticky(st fs.FileInfo) bool { return st.Mode()&fs.ModeSticky != 0 }

func owner(st fs.FileInfo) (uid, gid uint32) {
	s := st.Sys().(*syscall.Stat_t)
	return s.Uid, s.Gid
}

// mine reports whether a user is root or this one.
func mine(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// system reports whether uid is the owner of the root folder: in a user namespace
// the machine's root has a number there that stands for all users outside
// (user_namespaces(7), /proc/sys/kernel/overflowuid).
func system(uid uint32) bool {
	st, err := os.Lstat("/")
	if err != nil {
		return false
	}
	root, _ := owner(st)
	return uid == root
}

// Untrusted reports whether an error is one of this package.
func Untrusted(err error) bool { return errors.As(err, new(*Error)) }
