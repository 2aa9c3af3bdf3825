// SPDX-License-Identifier: MIT

// Package locked says which process has a file locked.
package locked

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/cmdline"
	"golang.org/x/sys/unix"
)

// By finds the process that has locked a file with flock, as the kernel reports; 0 where it does
// not: the process is in a PID namespace that cannot be seen from here, or the file system shows
// another number of its device (proc_locks(5)).
func By(f *os.File) int {
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

// Words describes a process for people: its number and its command line, without what is not to be
// seen. Of none it says "another process".
func Words(pid int) string {
	if pid <= 0 {
		return "another process (lslocks shows which)"
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 })
	if err != nil || len(words) == 0 {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d (%s)", pid, cmdline.Public(words))
}
