// SPDX-License-Identifier: MIT

package lab

import (
	"archive/tar"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/lab/guest"
)

// receiveTar unpacks what the guest sends back: files under guest.OutDir into
// out, which is created only when there are any, and files at or under the
// paths of returns to where they are named. Nothing else is taken: the guest
// runs whatever it was given.
func receiveTar(r io.Reader, out string, returns []string) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = errors.New("the guest died while sending")
			}
			return err
		}
		to, err := destination(h.Name, out, returns)
		if err == nil && h.Typeflag == tar.TypeReg {
			err = writeStream(to, tr, os.FileMode(h.Mode).Perm())
		}
		if err != nil {
			return err
		}
	}
}

// destination maps an entry of the guest's archive to its path on the host. It refuses what was not
// asked for.
func destination(name, out string, returns []string) (string, error) {
	p := filepath.Clean("/" + name)
	if rel, ok := strings.CutPrefix(p+"/", guest.OutDir+"/"); ok {
		return filepath.Join(out, rel), nil
	}
	for _, r := range returns {
		if p == r || strings.HasPrefix(p, r+"/") {
			return p, nil
		}
	}
	return "", fmt.Errorf("the guest sent %q without being asked", name)
}

// writeStream replaces the file at path by what r holds. What mode gives to others, our
// umask may take away.
func writeStream(path string, r io.Reader, mode os.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	temp := filepath.Join(dir, tempPrefix+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	_, err = io.Copy(f, r)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(temp, path)
}
