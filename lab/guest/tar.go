// SPDX-License-Identifier: MIT

package guest

import (
	"archive/tar"
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sendTar writes the paths, folders with all they hold, as one tar archive.
// Names are the absolute guest paths without the leading slash. Paths that do
// not exist and files that are neither regular nor folders are left out.
func sendTar(w io.Writer, paths []string) error {
	bw := bufio.NewWriterSize(w, 256<<10)
	tw := tar.NewWriter(bw)
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if os.IsNotExist(err) {
					return nil
				}
				return err
			}
			return addToTar(tw, path, d)
		})
		if err != nil {
			return fmt.Errorf("send back %s: %w", root, err)
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return bw.Flush()
}

func addToTar(tw *tar.Writer, path string, d fs.DirEntry) error {
	if !d.Type().IsRegular() && !d.IsDir() {
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	h, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	h.Name = strings.TrimPrefix(path, "/")
	if d.IsDir() {
		h.Name += "/"
		return tw.WriteHeader(h)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	// A file that grows meanwhile must not run over its header's size.
	_, err = io.Copy(tw, io.LimitReader(f, h.Size))
	return err
}
