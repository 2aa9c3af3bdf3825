// SPDX-License-Identifier: MIT

package environment

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// Copy puts the snapshots of a results folder into another one. What is no snapshot there, or
// not the one that its name says, is left.
func Copy(from, to *results.Folder) error {
	names, err := from.Names(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		hash, ok := strings.CutSuffix(name, ".json")
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
