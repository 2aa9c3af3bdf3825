// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Folder is a results folder that is open: the one door to what is in it. The path that the user
// named is followed once, links and all. Below it every file and folder is reached from the
// descriptor, name by name, and no link is followed: whoever owns the folder may exchange what is
// in it at any moment, and does not say what root reads, or where root writes.
//
// Names are of a file, or of a file in a folder of it: "journal.jsonl", "plots/x.svg". Folder is
// safe for concurrent use.
type Folder struct {
	at    *os.File // opened with O_PATH, which needs no more than to pass through
	dir   string   // as it was named
	owner uint32
	alone bool // nobody but its owner can put files there

	mu      sync.Mutex
	refused error
}

// OpenFolder opens a results folder, to read what is there, or to write beside it.
func OpenFolder(dir string) (*Folder, error) {
	fd, err := again(func() (int, error) { return unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	f := &Folder{at: os.NewFile(uintptr(fd), dir), dir: dir}
	if err := f.look(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenFolderBelow does what [OpenFolder] does, for a folder that was found in dir and that nobody
// named: it does not follow it if it is a link.
func OpenFolderBelow(dir, name string) (*Folder, error) {
	return openBelow(dir, name, false)
}

// openBelow opens a folder of dir, which is made if it may be; name "": dir itself.
func openBelow(dir, name string, create bool) (*Folder, error) {
	open := OpenFolder
	if create {
		open = makeFolder
	}
	in, err := open(dir)
	if err != nil || name == "" {
		return in, err
	}
	defer in.Close()
	f, err := in.sub(name, create)
	if err != nil {
		return nil, err
	}
	if err := f.look(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// makeFolder does what [OpenFolder] does, and makes the folder first if it is missing.
func makeFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return OpenFolder(dir)
}

func (f *Folder) look() error { return f.lookAt(f.fd()) }

func (f *Folder) lookAt(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: f.dir, Err: err}
	}
	f.owner, f.alone = st.Uid, st.Mode&0o022 == 0
	return nil
}

// Close closes the folder. Files of it that are open stay so.
func (f *Folder) Close() error { return f.at.Close() }

// Dir returns the folder's path as the user named it: to show, not to open.
func (f *Folder) Dir() string { return f.dir }

func (f *Folder) fd() int { return int(f.at.Fd()) }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, name) }

// Refused returns the first refusal in the folder so far, a *[Refused]; nil: nothing was refused.
// If one of many files cannot be read, a report goes on without it, and its command fails.
func (f *Folder) Refused() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

func (f *Folder) refuse(r *Refused) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil {
		f.refused = r
	}
	return r
}

// Open opens a file of the folder to read it. A link is a *[Refused], and so is what would be
// waited for or is none of the folder's, see [mayShow].
func (f *Folder) Open(name string) (*os.File, error) { return f.open(name, unix.O_RDONLY, mayShow) }

// open opens a file as it was stored, and looks at what was opened, which is what is then read or
// written.
func (f *Folder) open(name string, flags int, may func(*Folder, *unix.Stat_t) (why, how string)) (*os.File, error) {
	in, base, err := f.enter(name, false)
	if err != nil {
		return nil, err
	}
	defer in.leave(f)
	// A pipe without a writer, and a file on which somebody holds a lease, are not waited for.
	fd, err := again(func() (int, error) {
		return unix.Openat(in.fd(), base, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, f.explain(in, base, name, err)
	}
	file := os.NewFile(uintptr(fd), f.path(name))
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "stat", Path: f.path(name), Err: err}
	}
	why, how := "is not a regular file", "remove it"
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		why, how = may(in.judging(f), &st)
	}
	if why != "" {
		file.Close()
		return nil, f.refuse(&Refused{f.dir, name, why, how})
	}
	return file, nil
}

// enter opens the folder that a file is in: the folder itself, or one of it, which is made if it
// may be.
func (f *Folder) enter(name string, create bool) (in *Folder, base string, err error) {
	sub, base, below := strings.Cut(name, "/")
	if !below {
		return f, name, plainName(name)
	}
	if err := errors.Join(plainName(sub), plainName(base)); err != nil {
		return nil, "", err
	}
	in, err = f.sub(sub, create)
	return in, base, err
}

func (f *Folder) leave(of *Folder) {
	if f != of {
		f.Close()
	}
}

// plainName refuses what is not one step downward.
func plainName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%.80q is not the name of a file of a results folder", name)
	}
	return nil
}

// sub opens a folder in the folder.
func (f *Folder) sub(name string, create bool) (*Folder, error) {
	if create {
		if err := unix.Mkdirat(f.fd(), name, 0o777); err != nil && err != unix.EEXIST {
			return nil, &fs.PathError{Op: "mkdir", Path: f.path(name), Err: err}
		}
	}
	fd, err := again(func() (int, error) {
		return unix.Openat(f.fd(), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, f.explain(f, name, name, err)
	}
	return &Folder{at: os.NewFile(uintptr(fd), f.path(name)), dir: f.path(name), owner: f.owner, alone: f.alone}, nil
}

// judging returns the folder by which files in f are judged. A folder of root's may contain one of
// somebody else's, as archives do: what is there belongs to that user.
func (f *Folder) judging(of *Folder) *Folder {
	own := &Folder{dir: f.dir}
	if f == of || !of.alone || own.lookAt(f.fd()) != nil || own.owner == of.owner && own.alone {
		return of
	}
	if of.owner != 0 { // root may have made it
		own.owner = of.owner
	}
	own.alone = false
	return own
}

// Subfolder makes a folder in the folder, if it is missing.
func (f *Folder) Subfolder(name string) error {
	if err := plainName(name); err != nil {
		return err
	}
	in, err := f.sub(name, true)
	if err != nil {
		return err
	}
	return in.Close()
}

// explain turns the error of a file or folder that cannot be opened into one that says what is in
// its place.
func (f *Folder) explain(in *Folder, base, name string, err error) error {
	var st unix.Stat_t
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		if serr := unix.Fstatat(in.fd(), base, &st, unix.AT_SYMLINK_NOFOLLOW); serr != nil {
			return &fs.PathError{Op: "open", Path: f.path(name), Err: err}
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK || errors.Is(err, unix.ELOOP) {
			return f.refuse(&Refused{f.dir, name, "is a symbolic link, and none is followed below a results folder",
				"look where it leads (readlink -f); if that belongs here, put a copy in place of the link"})
		}
		return f.refuse(&Refused{f.dir, name, "is not a folder", "remove it"})
	}
	if errors.Is(err, unix.ENXIO) { // a socket, or a pipe that nobody reads
		return f.refuse(&Refused{f.dir, name, "is not a regular file", "remove it"})
	}
	return &fs.PathError{Op: "open", Path: f.path(name), Err: err}
}

// Has reports whether the folder has anything by that name, whatever it is.
func (f *Folder) Has(name string) bool {
	in, base, err := f.enter(name, false)
	if err != nil {
		return false
	}
	defer in.leave(f)
	var st unix.Stat_t
	return unix.Fstatat(in.fd(), base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// Names lists the names in a folder of the folder, sorted.
func (f *Folder) Names(sub string) ([]string, error) {
	in, err := f.sub(sub, false)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	d, err := in.readable()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// readable opens the folder itself once more, for reading and syncing.
func (f *Folder) readable() (*os.File, error) { return f.step(".") }

func (f *Folder) step(to string) (*os.File, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(f.fd(), to, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.path(to), Err: err}
	}
	return os.NewFile(uintptr(fd), f.path(to)), nil
}

// Write makes or replaces a file of the folder with what write produces, as [WriteFile] does. A
// folder of it that the name is in is made if it is missing.
func (f *Folder) Write(name string, write func(io.Writer) error) error {
	return f.replace(name, func(w io.Writer) error { return plainly(w, write) })
}

// WriteBinary does what [Folder.Write] does, for data that is not text: it writes the bytes as they
// are.
func (f *Folder) WriteBinary(name string, data []byte) error {
	return f.replace(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func (f *Folder) replace(name string, write func(io.Writer) error) error {
	in, base, err := f.enter(name, true)
	if err != nil {
		return err
	}
	defer in.leave(f)
	err = in.put(base, write)
	if errors.Is(err, unix.EISDIR) {
		return f.refuse(&Refused{f.dir, name, "is a folder, in the place of a file", "move it away"})
	}
	return err
}

// again calls what a signal may interrupt, on a file system of a network.
func again(call func() (int, error)) (int, error) {
	for {
		if fd, err := call(); err != unix.EINTR {
			return fd, err
		}
	}
}
