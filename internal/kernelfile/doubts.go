// SPDX-License-Identifier: MIT

package kernelfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// InContainers are the files, and folders of them, that lxcfs and its like put at the place of
// the kernel's (lxcfs: src/proc_fuse.c, src/sysfs_fuse.c), or that container runtimes hide
// (moby: oci/defaults.go, MaskedPaths), or do not mount.
var InContainers = []string{"/proc/stat", "/proc/cpuinfo", "/proc/meminfo", "/proc/uptime", "/proc/loadavg",
	"/proc/diskstats", "/proc/swaps", "/proc/slabinfo", "/proc/pressure/cpu", "/proc/pressure/io",
	"/proc/pressure/memory", "/proc/interrupts", "/sys", "/sys/devices/system/cpu", "/sys/devices/system/cpu/online"}

// Covered lists those of InContainers that are not the kernel's here. One that is not there
// is not among them.
func Covered() (out []string) {
	for _, path := range InContainers {
		if IsNotKernels(Check(path)) {
			out = append(out, path)
		}
	}
	return out
}

// otherPIDs is a /proc whose process numbers are not this process's: it was mounted in
// another PID namespace, so that /proc/PID is of another process there, or of none.
type otherPIDs struct {
	Own  int    // the process's own number
	Self string // what /proc/self leads to, "" for nowhere
}

func (e *otherPIDs) Error() string {
	if e.Self == "" {
		return fmt.Sprintf("/proc is of another PID namespace: this process (%d) is not in it", e.Own)
	}
	return fmt.Sprintf("/proc is of another PID namespace: this process is %d, and %s there", e.Own, e.Self)
}

// Fix advises how to see the own.
func (e *otherPIDs) Fix() string {
	return "mount the /proc of this PID namespace: unshare -m, then mount -t proc proc /proc"
}

// CheckPIDs refuses a /proc, mounted at root, whose process numbers are not this process's.
// It costs one system call.
func CheckPIDs(root string) error {
	self, err := os.Readlink(filepath.Join(root, "self"))
	own := os.Getpid()
	switch {
	case errors.Is(err, fs.ErrNotExist): // also where a process outside of its namespace looks
		if _, serr := os.Lstat(filepath.Join(root, "self")); serr != nil {
			return fmt.Errorf("find this process in %s: %w", root, err)
		}
		return &otherPIDs{Own: own}
	case err != nil:
		return fmt.Errorf("find this process in %s: %w", root, err)
	case self != strconv.Itoa(own):
		return &otherPIDs{Own: own, Self: self}
	}
	return nil
}
