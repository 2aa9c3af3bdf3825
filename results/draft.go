// SPDX-License-Identifier: MIT

package results

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// draft is a file that is being written, beside the path that will be its own when it is whole.
// Where the file system can (O_TMPFILE of open(2)) it has no name until then: whatever ends this
// process, a kill -9 too, nothing half written stays in the folder.
type draft struct {
	f    *os.File
	name string // of its own until it is published; empty: it has none
}

// openUnnamed makes a file without a name in a folder. Which ones cannot is found out by trying.
var openUnnamed = func(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o666)
}

func newDraft(path string) (*draft, error) {
	if f, err := openUnnamed(filepath.Dir(path)); err == nil {
		return &draft{f: f}, nil
	}
	f, err := createTemp(path)
	if err != nil {
		return nil, err
	}
	return &draft{f, f.Name()}, nil
}

// publish makes the draft the file at path, in place of what is there. Nothing links a file over
// another: where there is one, the draft has a name of its own for as long as a rename takes.
func (d *draft) publish(path string) error {
	if d.name == "" {
		err := d.link(path)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for d.name == "" {
		temp := tempName(path)
		if err := d.link(temp); err == nil {
			d.name = temp
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := os.Rename(d.name, path); err != nil {
		return err
	}
	d.name = ""
	return nil
}

// link gives the draft its first name. A file is linked by its descriptor without a capability
// where /proc is (openat(2)).
func (d *draft) link(path string) error {
	from := fmt.Sprintf("/proc/self/fd/%d", d.f.Fd())
	if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: path, Err: err}
	}
	return nil
}

// drop closes the draft. One that was not published is gone.
func (d *draft) drop() error {
	err := d.f.Close()
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
