// SPDX-License-Identifier: MIT

package results

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// draft is a file that is being written, beside the path that will be its own when it is whole.
// Where the file system can (O_TMPFILE of open(2)) it has no name until then: whatever ends this
// process, a kill -9 too, nothing half written stays in the folder.
type draft struct {
	f         *os.File
	name      string // of its own until it is published; empty: it has none
	published bool
}

// openUnnamed makes a file without a name in a folder. Which ones cannot is found out by trying.
var openUnnamed = func(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o666)
}

func newDraft(path string) (*draft, error) {
	if f, err := openUnnamed(filepath.Dir(path)); err == nil {
		if _, err := os.Stat(byDescriptor(f)); err == nil {
			return &draft{f: f}, nil
		}
		f.Close()
	}
	f, err := createTemp(path)
	if err != nil {
		return nil, err
	}
	return &draft{f: f, name: f.Name()}, nil
}

// byDescriptor is a path to an open file, where /proc is: a chroot may have none.
func byDescriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// publish makes the draft, which is on the disk, the file at path, in place of what is there.
// Nothing links a file over another: where there is one, the draft has a name of its own for as
// long as a rename takes. One that cannot be linked, whatever the reason, is copied.
func (d *draft) publish(path string) error {
	if d.name == "" {
		if d.published = linkDraft(d.f, path) == nil; d.published {
			return nil
		}
		temp := tempName(path)
		if err := linkDraft(d.f, temp); err == nil {
			d.name = temp
		} else if err := d.copy(path); err != nil {
			return err
		}
	}
	// What the file system has not said before it says now, while the old file is there.
	if err := d.f.Close(); err != nil {
		return err
	}
	if err := os.Rename(d.name, path); err != nil {
		return err
	}
	d.name, d.published = "", true
	return nil
}

// linkDraft gives a file its first name. It is linked by its descriptor without a capability where
// /proc is (openat(2)); a security module may refuse that.
var linkDraft = func(f *os.File, path string) error {
	from := byDescriptor(f)
	if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: path, Err: err}
	}
	return nil
}

// copy makes the draft a file with a name.
func (d *draft) copy(path string) error {
	to, err := createTemp(path)
	if err != nil {
		return err
	}
	from := d.f
	defer from.Close()
	d.f, d.name = to, to.Name()
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
		err = errors.Join(err, os.Remove(d.name))
	}
	return err
}

// createTemp makes a file beside path that nobody has. [os.CreateTemp] makes files that
// only their owner may read, and the umask that would have applied can only be asked for
// by changing it, for all threads at once.
func createTemp(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(tempName(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

func tempName(path string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, "."+name+"."+rand.Text()[:10]+".tmp")
}
