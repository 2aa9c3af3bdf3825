// SPDX-License-Identifier: MIT

package agent

import (
	"os"

	"golang.org/x/sys/unix"
)

// programFD is the descriptor that a shell on an ssh host starts us from: the
// file that it looked at and hashed, whatever its name stands for by then.
const (
	programFD   = 9
	programPath = "/proc/self/fd/9"
)

// Arrive makes a process that was started by descriptor one like others: the
// descriptor would go to all that it starts, and ps and pgrep would know it as "9".
func Arrive() {
	var exe, fd unix.Stat_t
	if os.Args[0] != programPath || unix.Stat("/proc/self/exe", &exe) != nil || unix.Fstat(programFD, &fd) != nil {
		return
	}
	if exe.Dev == fd.Dev && exe.Ino == fd.Ino {
		unix.Close(programFD)
	}
	os.WriteFile("/proc/self/comm", []byte("zcbench"), 0) // for people only
}
