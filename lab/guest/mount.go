// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mounts are the file systems a program may expect, in the order they nest. The
// root is memory already; /tmp stays part of it, since go test puts its binary
// there.
var mounts = []struct {
	dir, fstype string
	flags       uintptr
	data        string
	optional    bool
	fresh       bool // each job finds it empty
}{
	{"/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "", false, false},
	{"/sys", "sysfs", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "", false, false},
	{"/dev", "devtmpfs", unix.MS_NOSUID, "mode=0755", false, false},
	{"/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "ptmxmode=0666", true, false},
	{"/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "", false, true},
	{"/dev/hugepages", "hugetlbfs", unix.MS_NOSUID | unix.MS_NODEV, "", true, true},
	{"/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755", false, true},
	{"/sys/fs/bpf", "bpf", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "", true, true},
	{"/sys/fs/cgroup", "cgroup2", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "", true, false},
	{"/sys/kernel/tracing", "tracefs", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "", true, false},
	{"/sys/kernel/debug", "debugfs", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, "", true, false},
}

func mountAll() error {
	if err := mountEach(false); err != nil {
		return err
	}
	return links()
}

// mountEach mounts them all, or those that each job finds empty.
func mountEach(freshOnly bool) error {
	for _, m := range mounts {
		if freshOnly && !m.fresh {
			continue
		}
		if err := os.MkdirAll(m.dir, 0o755); err != nil && !m.optional {
			return err
		}
		err := unix.Mount(m.fstype, m.dir, m.fstype, m.flags, m.data)
		// The kernel mounts devtmpfs itself when it is told to.
		if err != nil && err != unix.EBUSY && !m.optional {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	return nil
}

// links makes the symbolic links that a distribution's start-up makes.
func links() error {
	if err := os.MkdirAll("/var", 0o755); err != nil {
		return err
	}
	for link, target := range map[string]string{"/dev/fd": "/proc/self/fd", "/var/run": "/run"} {
		if err := os.Symlink(target, link); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
