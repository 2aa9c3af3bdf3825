// SPDX-License-Identifier: MIT

package lease

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stranger reports whether a process that has locked a file is another user's, or
// has ended and left the file to one that it started: ours leave theirs to nobody.
// Root, and who runs as root, is no stranger.
func stranger(pid int) bool {
	if pid <= 0 {
		return false // nothing is known of it
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return os.IsNotExist(err) || err == unix.ESRCH
	}
	for line := range strings.Lines(string(b)) {
		ids, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		for _, id := range strings.Fields(ids) { // real, effective, saved, of the file system
			if n, err := strconv.Atoi(id); err != nil || n != 0 && n != os.Geteuid() {
				return true
			}
		}
	}
	return false
}

// ownedByUs reports whether a file is the effective user's.
func ownedByUs(st os.FileInfo) bool { return int(uidOf(st)) == os.Geteuid() }

func uidOf(st os.FileInfo) uint32 { return st.Sys().(*syscall.Stat_t).Uid }
