// SPDX-License-Identifier: MIT

package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/zcbench/zcbench/results"
)

// Limits of what is read. A journal of the largest plan has 10,000 cells; memory is for the figures
// of the cells, and not for the records, of which two folders' are held at a time.
const (
	maxFolders = 20_000
	maxRuns    = 50_000    // of a journal
	maxCells   = 2_000     // different ones, over all folders
	maxFigures = 2_000_000 // cells with figures, over all folders
)

// Place is where a results folder is.
type Place struct {
	Dir   string
	found bool // in a folder that was named, and not named itself
}

// Named makes a place of a folder that the user named: it may be a link.
func Named(dir string) Place { return Place{Dir: dir} }

// open opens the folder.
func (p Place) open() (*results.Folder, error) {
	if p.found {
		return results.OpenFolderBelow(filepath.Split(p.Dir))
	}
	return results.OpenFolder(p.Dir)
}

// Find lists the results folders that arguments name: each is one, or a folder of such. What has a
// journal is a results folder, and so is an argument that has neither a journal nor folders: that
// nothing is there is a result too.
func Find(args []string) ([]Place, error) {
	var out []Place
	seen := map[string]bool{}
	add := func(dir string, found bool) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir
		}
		if real, err = filepath.Abs(real); err != nil {
			real = dir
		}
		if !seen[real] {
			seen[real] = true
			out = append(out, Place{filepath.Clean(dir), found})
		}
	}
	for _, arg := range args {
		st, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !st.IsDir() {
			return nil, fmt.Errorf("%s is a file: name the results folder, %s", arg, filepath.Dir(arg))
		}
		below, err := foldersOf(arg)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			add(arg, false)
		}
		for _, dir := range below {
			add(dir, true)
		}
		if len(out) > maxFolders {
			return nil, fmt.Errorf("more than %d folders", maxFolders)
		}
	}
	return out, nil
}

// foldersOf lists the folders in dir by name, if dir has no journal and one of them has; it does
// not follow links.
func foldersOf(dir string) ([]string, error) {
	if hasJournal(dir) {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	any := false
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if len(out) == maxFolders {
			return nil, fmt.Errorf("%s has more than %d folders", dir, maxFolders)
		}
		path := filepath.Join(dir, e.Name())
		out, any = append(out, path), any || hasJournal(path)
	}
	if !any {
		return nil, nil
	}
	slices.Sort(out)
	return out, nil
}

func hasJournal(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, results.JournalFile))
	return err == nil
}
