// SPDX-License-Identifier: MIT

package lease

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// holder is the process that has locked a file with flock, as the kernel says; 0
// where it does not: the process is in a PID namespace that cannot be seen from
// here, or the file system shows another number of its device (proc_locks(5)).
func holder(f *os.File) int {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	all, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer all.Close()
	for s := bufio.NewScanner(all); s.Scan(); {
		// "1: FLOCK  ADVISORY  WRITE 21316 fe:00:9978017 0 EOF"; those who wait have "->".
		w := strings.Fields(s.Text())
		if len(w) > 5 && w[1] == "FLOCK" && w[5] == file {
			pid, _ := strconv.Atoi(w[4])
			return max(pid, 0)
		}
	}
	return 0
}

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
