// SPDX-License-Identifier: MIT

package guest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// unpack lays out an archive below root, where the machine's own files stay.
func unpack(r io.Reader, root string, base snapshot) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = unpackOne(tr, h, filepath.Join(root, h.Name), base)
		}
		if err != nil {
			return fmt.Errorf("take the command's files: %w", err)
		}
	}
}

func unpackOne(r io.Reader, h *tar.Header, path string, base snapshot) error {
	if h.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	if _, own := base[path]; own {
		return fmt.Errorf("%s: the machine already has one", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode).Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
