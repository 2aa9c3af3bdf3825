// SPDX-License-Identifier: MIT

package lab

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cargo is what travels to the guest with a command.
type cargo struct {
	items []item
	seen  map[string]bool
}

// item is a file, open for reading, or a folder.
type item struct {
	path string // in the guest, absolute
	file *os.File
	size int64
	mode fs.FileMode
}

// loadCargo takes the program, the folder testdata of the working directory (what go
// test gives a test to read), the files asked for, and the folders of what comes back.
func loadCargo(cmd *command, dir string, files []string) (*cargo, error) {
	c := &cargo{seen: map[string]bool{}}
	err := c.load(cmd, dir, files)
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cargo) load(cmd *command, dir string, files []string) error {
	if cmd.carry != "" {
		if err := c.addFile(cmd.carry, cmd.carry); err != nil {
			return err
		}
	}
	for _, p := range cmd.returns {
		c.addWritable(p)
	}
	for _, p := range append([]string{filepath.Join(dir, "testdata")}, files...) {
		p, err := filepath.Abs(p)
		if err != nil {
			return err
		}
		if err := c.addTree(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *cargo) add(it item) {
	if c.seen[it.path] {
		if it.file != nil {
			it.file.Close()
		}
		return
	}
	c.seen[it.path] = true
	c.items = append(c.items, it)
}

// addWritable makes sure that the command can write to the absolute path: the
// folders above it exist, and it does itself where it is a folder on the host.
func (c *cargo) addWritable(p string) {
	if st, err := os.Stat(p); err != nil || !st.IsDir() {
		p = filepath.Dir(p)
	}
	c.add(item{path: p})
}

// addFile carries the host's file to the guest's absolute path.
func (c *cargo) addFile(guestPath, hostPath string) error {
	f, err := os.Open(hostPath)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	c.add(item{guestPath, f, st.Size(), st.Mode().Perm()})
	return nil
}

// addTree carries a file, or a folder with everything under it, to the same path;
// links to files arrive as files. One that does not exist is no error.
func (c *cargo) addTree(root string) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && p == root:
			return nil
		case err != nil:
			return err
		case d.IsDir():
			c.add(item{path: p})
			return nil
		}
		st, err := os.Stat(p)
		if err != nil || !st.Mode().IsRegular() {
			return nil // a dangling link or a socket is nobody's test data
		}
		return c.addFile(p, p)
	})
}

// write writes the archive.
func (c *cargo) write(w io.Writer) error {
	bw := bufio.NewWriterSize(w, 256<<10)
	tw := tar.NewWriter(bw)
	for _, it := range c.items {
		if err := it.write(tw); err != nil {
			return fmt.Errorf("carry %s into the guest: %w", it.path, err)
		}
	}
	return errors.Join(tw.Close(), bw.Flush())
}

func (it *item) write(tw *tar.Writer) error {
	name := strings.TrimPrefix(it.path, "/")
	if it.file == nil {
		return tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(it.mode), Size: it.size}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(tw, io.NewSectionReader(it.file, 0, it.size))
	return err
}

func (c *cargo) close() {
	for _, it := range c.items {
		if it.file != nil {
			it.file.Close()
		}
	}
}
