package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// WriteFile makes or replaces the file at path with what write produces, all
// or nothing: readers see the old file or the new one, also after a crash. It
// goes through a temporary file in the same folder.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	b := bufio.NewWriterSize(f, 256<<10)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	// CreateTemp makes files for the owner only; results are to be shared.
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
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
		err = fmt.Errorf("write into %s: it is no folder: remove it", path)
	}
	return path, err
}

// openFile opens a file as it was stored: not what would wait for a writer, or never
// end.
func openFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("open %s: it is no regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
