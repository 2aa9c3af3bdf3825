// SPDX-License-Identifier: MIT

package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/zcbench/zcbench/internal/plaintext"
	"golang.org/x/sys/unix"
)

// WriteFile makes or replaces the file at path, which the user named, with what write produces, all
// or nothing: readers see the old file or the new one, also after a crash. It
// goes through a temporary file in the same folder. Who may read it is the user's
// umask to say, as with any tool. It is text, and harmless to the terminal or the browser
// that shows it: see [plaintext]. Files of a results folder are written by [Folder.Write].
func WriteFile(path string, write func(io.Writer) error) error {
	return replace(path, func(w io.Writer) error { return plainly(w, write) })
}

// WriteBinary does what [WriteFile] does, for data that is not text: it writes the bytes as they
// are.
func WriteBinary(path string, data []byte) error {
	return replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func plainly(w io.Writer, write func(io.Writer) error) error {
	text := plaintext.NewWriter(w)
	if err := write(text); err != nil {
		return err
	}
	return text.Flush()
}

func replace(path string, write func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	if plainName(name) != nil {
		return fmt.Errorf("write %s: %w", path, &fs.PathError{Op: "create", Path: path, Err: unix.EISDIR})
	}
	f, err := OpenFolder(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer f.Close()
	return f.put(name, write)
}

// put makes or replaces a file in the folder itself.
func (f *Folder) put(name string, write func(io.Writer) error) (err error) {
	d, err := newDraft(f, name)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path(name), err)
	}
	defer func() {
		if err = errors.Join(err, d.drop()); err != nil {
			err = fmt.Errorf("write %s: %w", f.path(name), err)
		}
	}()
	b := bufio.NewWriterSize(d.f, 256<<10)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if err := d.f.Sync(); err != nil {
		return err
	}
	if err := d.publish(name); err != nil {
		return err
	}
	return f.sync(".")
}

// sync puts the names in the folder on the disk, or those beside its own ("..").
func (f *Folder) sync(which string) error {
	d, err := f.step(which)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems (9p, some FUSE) cannot sync a folder: there is nothing
	// more to do there, and the run must not fail for it.
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
