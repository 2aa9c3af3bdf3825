// SPDX-License-Identifier: MIT

// Package kernelfile reads the kernel's own files, and refuses those that only stand at
// their place. In a container, lxcfs mounts files of its own over /proc/stat, /proc/meminfo,
// /sys/devices/system/cpu/online and others: they show what the container may use, renumber
// CPUs and count the time of others as idle. A figure or a decision from them is wrong
// without looking so.
package kernelfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// NotKernels is a file below /proc or /sys that is not of the kernel's file system.
type NotKernels struct {
	Path string
	Type int64 // f_type of statfs(2)
}

func (e *NotKernels) Error() string {
	return fmt.Sprintf("%s is not the kernel's file: %s stands in its place, "+
		"as lxcfs does in containers, and may show a part of the machine only", e.Path, typeName(e.Type))
}

// Fix advises how to see the kernel's.
func (e *NotKernels) Fix() string { return "measure on the host, or umount " + e.Path }

// IsNotKernels reports whether err comes of such a file.
func IsNotKernels(err error) bool {
	var e *NotKernels
	return errors.As(err, &e)
}

// Open opens a file for reading. Below /proc and /sys it must be of the kernel's file
// systems, else the error is a [*NotKernels]. Other paths, such as fixtures, are opened as
// they are.
func Open(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := checkOpen(path, f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkOpen does not ask for the descriptor by Fd, which would make the file block.
func checkOpen(path string, f *os.File) (err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := c.Control(func(fd uintptr) { err = CheckFD(path, int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// CheckFD refuses what Open would refuse, of a file that was opened otherwise: path is where.
func CheckFD(path string, fd int) error {
	return check(path, func(st *unix.Statfs_t) error {
		err := unix.Fstatfs(fd, st)
		for err == unix.EINTR {
			err = unix.Fstatfs(fd, st)
		}
		return err
	})
}

// ReadFile reads a file that Open would open.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Check refuses what Open would refuse, for files that a library reads. A file that is not
// there is an error of statfs(2).
func Check(path string) error {
	return check(path, func(st *unix.Statfs_t) error {
		if err := unix.Statfs(path, st); err != nil {
			return &os.PathError{Op: "statfs", Path: path, Err: err}
		}
		return nil
	})
}

func check(path string, statfs func(*unix.Statfs_t) error) error {
	want := fileSystems(path)
	if want == nil {
		return nil
	}
	var st unix.Statfs_t
	if err := statfs(&st); err != nil {
		return fmt.Errorf("find the file system of %s: %w", path, err)
	}
	if !slices.Contains(want, int64(st.Type)) {
		return &NotKernels{Path: path, Type: int64(st.Type)}
	}
	return nil
}

var (
	below = map[string][]int64{
		"/proc": {unix.PROC_SUPER_MAGIC},
		"/sys": {unix.SYSFS_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.DEBUGFS_MAGIC,
			unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC, unix.RDTGROUP_SUPER_MAGIC,
			unix.SELINUX_MAGIC},
	}
	names = map[int64]string{
		unix.FUSE_SUPER_MAGIC:      "a FUSE file",
		unix.TMPFS_MAGIC:           "a file of a tmpfs",
		unix.OVERLAYFS_SUPER_MAGIC: "a file of an overlay",
		unix.EXT4_SUPER_MAGIC:      "a file of a disk",
		unix.BTRFS_SUPER_MAGIC:     "a file of a disk",
		unix.XFS_SUPER_MAGIC:       "a file of a disk",
	}
)

// fileSystems lists what may lie at path; nil is anything.
func fileSystems(path string) []int64 {
	path = filepath.Clean(path)
	for root, types := range below {
		if path == root || strings.HasPrefix(path, root+"/") {
			return types
		}
	}
	return nil
}

func typeName(t int64) string {
	if n, ok := names[t]; ok {
		return n
	}
	return fmt.Sprintf("a file of another kind (f_type %#x)", t)
}
