// SPDX-License-Identifier: MIT

package lease

import (
	"os"
	"path/filepath"

	"github.com/zcbench/zcbench/internal/lazy"
)

// What we make in a folder has names of these forms, and nothing else is removed
// there: a user may have named a folder that has other things in it.
var (
	journalName = lazy.Regexp(`^[0-9]+-[0-9]+-[0-9]+\.lease$`)
	lockName    = lazy.Regexp(`^(dev-[0-9]+-[0-9]+|netns-[0-9]+|host)\.lock$`)
	besideName  = lazy.Regexp(`^(\.[0-9]+-[0-9]+-[0-9]+\.lease\.new|[0-9]+-[0-9]+-[0-9]+\.lease\.damaged)$`)
)

// folderName is what the folders are called that are made for journals alone.
const folderName = "zcbench"

// madeForUs reports whether a folder is there for journals and locks alone, so that
// its mode may be changed: it has our name, or nothing but our files in it.
func madeForUs(dir string) bool {
	st, err := os.Stat(dir)
	if err != nil || st.Mode()&os.ModeSticky != 0 {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if n := e.Name(); !journalName().MatchString(n) && !lockName().MatchString(n) &&
			!besideName().MatchString(n) && n != gateFile {
			return filepath.Base(dir) == folderName
		}
	}
	return len(entries) > 0 || filepath.Base(dir) == folderName
}
