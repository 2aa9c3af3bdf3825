// SPDX-License-Identifier: MIT

package results

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// draft is a file that is being written, beside the name that will be its own when it is whole.
// Where the file system can (O_TMPFILE of open(2)) it has no name until then: whatever ends this
// process, a kill -9 too, nothing half written stays in the folder.
type draft struct {
	in        *Folder
	f         *os.File
	name      string // of its own in the folder until it is published; empty: it has none
	published bool
}

// openUnnamed makes a file without a name in a folder. Which ones cannot is found out by trying.
var openUnnamed = func(in *Folder) (*os.File, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(in.fd(), ".", unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, 0o666)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), in.dir), nil
}

func newDraft(in *Folder, name string) (*draft, error) {
	if f, err := openUnnamed(in); err == nil {
		if _, err := os.Stat(byDescriptor(f)); err == nil {
			return &draft{in: in, f: f}, nil
		}
		f.Close()
	}
	f, temp, err := createTemp(in, name)
	if err != nil {
		return nil, err
	}
	return &draft{in: in, f: f, name: temp}, nil
}

// byDescriptor returns the path of an open file below /proc, which a chroot may lack.
func byDescriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// publish makes the draft, which is on the disk, the file of that name, in place of what is there.
// Nothing links a file over another: where there is one, the draft has a name of its own for as
// long as a rename takes. One that cannot be linked, whatever the reason, is copied.
func (d *draft) publish(name string) error {
	if d.name == "" {
		if d.published = linkDraft(d.f, d.in, name) == nil; d.published {
			return nil
		}
		temp := tempName(name)
		if err := linkDraft(d.f, d.in, temp); err == nil {
			d.name = temp
		} else if err := d.copy(name); err != nil {
			return err
		}
	}
	// What the file system has not said before it says now, while the old file is there.
	if err := d.f.Close(); err != nil {
		return err
	}
	if err := unix.Renameat(d.in.fd(), d.name, d.in.fd(), name); err != nil {
		return &os.LinkError{Op: "rename", Old: d.in.path(d.name), New: d.in.path(name), Err: err}
	}
	d.name, d.published = "", true
	return nil
}

// linkDraft gives a file its first name. It is linked by its descriptor without a capability where
// /proc is (openat(2)); a security module may refuse that.
var linkDraft = func(f *os.File, in *Folder, name string) error {
	from := byDescriptor(f)
	if err := unix.Linkat(unix.AT_FDCWD, from, in.fd(), name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: in.path(name), Err: err}
	}
	return nil
}

// copy makes the draft a file with a name.
func (d *draft) copy(name string) error {
	to, temp, err := createTemp(d.in, name)
	if err != nil {
		return err
	}
	from := d.f
	defer from.Close()
	d.f, d.name = to, temp
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.Sync()
}

// drop closes the draft. One that was not published is gone. Of one that was, closing says nothing
// that has not been said: all of it was on the disk before.
func (d *draft) drop() error {
	err := d.f.Close()
	if d.published || errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if d.name != "" {
		err = errors.Join(err, d.in.remove(d.name))
	}
	return err
}

// createTemp makes a file beside name that nobody has. [os.CreateTemp] makes files that
// only their owner may read, and the umask that would have applied can only be asked for
// by changing it, for all threads at once.
func createTemp(in *Folder, name string) (f *os.File, temp string, err error) {
	for {
		temp = tempName(name)
		f, err := in.create(temp, unix.O_RDWR)
		if !errors.Is(err, fs.ErrExist) {
			return f, temp, err
		}
	}
}

func tempName(name string) string { return "." + name + "." + rand.Text()[:10] + ".tmp" }

// create makes a file that is not there, nor anything else by its name.
func (f *Folder) create(name string, flags int) (*os.File, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(f.fd(), name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.path(name), Err: err}
	}
	return os.NewFile(uintptr(fd), f.path(name)), nil
}

func (f *Folder) remove(name string) error {
	if err := unix.Unlinkat(f.fd(), name, 0); err != nil {
		return &fs.PathError{Op: "remove", Path: f.path(name), Err: err}
	}
	return nil
}
