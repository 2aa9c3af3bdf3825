// SPDX-License-Identifier: MIT

package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zcbench/zcbench/internal/plaintext"
	"golang.org/x/sys/unix"
)

// WriteFile makes or replaces the file at path with what write produces, all
// or nothing: readers see the old file or the new one, also after a crash. It
// goes through a temporary file in the same folder. Who may read it is the user's
// umask to say, as with any tool. It is text, and harmless to the terminal or the browser
// that shows it: see [plaintext].
func WriteFile(path string, write func(io.Writer) error) error {
	return replace(path, func(w io.Writer) error {
		text := plaintext.NewWriter(w)
		if err := write(text); err != nil {
			return err
		}
		return text.Flush()
	})
}

// WriteBinary is [WriteFile] of what is no text: bytes as they are.
func WriteBinary(path string, data []byte) error {
	return replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func replace(path string, write func(io.Writer) error) (err error) {
	d, err := newDraft(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err = errors.Join(err, d.drop()); err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
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
	if err := d.publish(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Subfolder makes the folder name in dir, if it is missing. A link by that name is
// refused: results that came from somebody else do not say where files are written.
func Subfolder(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o777); !errors.Is(err, fs.ErrExist) {
		return path, err
	}
	st, err := os.Lstat(path)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("write into %s: it is not a folder: remove it", path)
	}
	return path, err
}

// Open opens a file of a results folder to read it. One that came from somebody else has
// nothing in it that is waited for.
func Open(path string) (*os.File, error) { return openFile(path, os.O_RDONLY) }

// openFile opens a file as it was stored: not what would wait for a writer, or never
// end.
func openFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("open %s: it is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
