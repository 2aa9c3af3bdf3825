// SPDX-License-Identifier: MIT

package environment

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Copy puts the snapshots of a results folder into another one. What is no snapshot there, or
// not the one that its name says, is left.
func Copy(from, to string) error {
	entries, err := os.ReadDir(filepath.Join(from, Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		hash, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		if s, _, err := readFile(from, hash); err == nil {
			if _, err := Write(to, s); err != nil {
				return err
			}
		}
	}
	return nil
}
