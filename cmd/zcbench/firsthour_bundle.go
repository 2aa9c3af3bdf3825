// SPDX-License-Identifier: MIT

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/zcbench/zcbench/cmd/internal/cli"
)

// archiveEnd is what the name of a bundle's archive ends with.
const archiveEnd = ".tar.gz"

// bundle is a folder that firsthour has made, with all that it found. Nothing below it is reached
// by a link.
type bundle struct {
	dir  string
	root *os.Root
}

// makeBundle makes the folder, which is not there yet.
func makeBundle(dir string) (*bundle, error) {
	err := os.MkdirAll(filepath.Dir(dir), 0o777)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return nil, cli.Usagef("--out: %w: choose another folder", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the bundle: %w", err)
	}
	return &bundle{dir, root}, nil
}

func (b *bundle) close() { b.root.Close() }

// path is where a file or folder of the bundle lies, for commands.
func (b *bundle) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bundle) has(name string) bool {
	_, err := b.root.Lstat(name)
	return err == nil
}

// write makes a file of the bundle.
func (b *bundle) write(name string, text []byte) error {
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("the bundle: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the bundle: %w", err)
	}
	return nil
}

// pack makes an archive of all files of the bundle, which is not there yet.
func (b *bundle) pack(to string) (err error) {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("make the archive: %w", err)
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = errors.Join(fmt.Errorf("make the archive: %w", err), os.Remove(to)) // ours: it was not there
		}
	}()
	z := gzip.NewWriter(out)
	t := tar.NewWriter(z)
	base := filepath.Base(b.dir)
	err = fs.WalkDir(b.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return b.add(t, name, path.Join(base, name))
	})
	return errors.Join(err, t.Close(), z.Close())
}

// add puts a file into an archive.
func (b *bundle) add(t *tar.Writer, name, as string) error {
	f, err := b.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	err = t.WriteHeader(&tar.Header{Name: as, Mode: 0o644, Size: st.Size(), ModTime: st.ModTime(),
		Typeflag: tar.TypeReg})
	if err == nil {
		_, err = io.CopyN(t, f, st.Size())
	}
	return err
}
