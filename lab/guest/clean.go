// SPDX-License-Identifier: MIT

package guest

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// unmountStrangers takes down what a job mounted.
func unmountStrangers() error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range slices.Backward(strangers(string(b))) {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil && err != unix.EINVAL {
			errs = append(errs, fmt.Errorf("unmount %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// strangers lists the mount points of a mountinfo (proc_pid_mountinfo(5)) that are not ours, or
// cover one of ours, in the order in which they were mounted.
func strangers(mountinfo string) (dirs []string) {
	ours := map[string]bool{"/": true}
	for _, m := range mounts {
		ours[m.dir] = true
	}
	lines := bufio.NewScanner(strings.NewReader(mountinfo))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 5 {
			continue
		}
		dir := unescape(f[4])
		if !ours[dir] {
			dirs = append(dirs, dir)
		}
		delete(ours, dir)
	}
	return dirs
}

// unescape undoes what the kernel does to a mount point with spaces.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// freshMounts makes those file systems anew in which programs leave something:
// sockets, locks, huge pages, pinned BPF objects.
func freshMounts() error {
	for _, m := range slices.Backward(mounts) {
		if !m.fresh {
			continue
		}
		if err := unix.Unmount(m.dir, 0); err != nil && !(m.optional && err == unix.EINVAL) {
			return fmt.Errorf("unmount %s: %w", m.dir, err)
		}
	}
	return mountEach(true)
}

const cgroupRoot = "/sys/fs/cgroup"

// removeCgroups removes the control groups below root.
func removeCgroups(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && p != root {
			dirs = append(dirs, p)
		}
		return ignore(err, fs.ErrNotExist)
	})
	leftFirst(dirs)
	for _, d := range dirs {
		err = errors.Join(err, unix.Rmdir(d))
	}
	return err
}

// tracing is where tracefs is.
const tracing = "/sys/kernel/tracing/"

// removeTraces removes the kernel's probes and trace buffers that a job defined.
func removeTraces() error {
	var errs []error
	made, err := filepath.Glob(tracing + "instances/*")
	errs = append(errs, err)
	for _, d := range made {
		errs = append(errs, unix.Rmdir(d))
	}
	f, err := os.OpenFile(tracing+"dynamic_events", os.O_WRONLY|os.O_TRUNC, 0)
	if err == nil {
		f.Close()
	}
	return errors.Join(append(errs, ignore(err, fs.ErrNotExist))...)
}

// removeLinks removes the network interfaces of the first namespace but lo; those of
// the others go with them.
func removeLinks() error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	links, err := c.Links()
	for _, l := range links {
		if l.Name == "lo" {
			continue
		}
		// One of a pair takes the other along.
		if derr := ignore(c.Delete(l.Index), unix.ENODEV); derr != nil {
			err = errors.Join(err, fmt.Errorf("delete the interface %s: %w", l.Name, derr))
		}
	}
	return err
}

// ignore returns err, or nil if it is the expected one.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
