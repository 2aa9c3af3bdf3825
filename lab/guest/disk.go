// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Disk is a second disk with an unpacked Debian: programs that a guest without any
// libraries cannot run by itself.
const (
	diskDevice = "/dev/vda"
	diskFS     = "ext4"
	diskDir    = "/run/disk"
	diskRoot   = diskDir + "/root"
)

// termGrace is how long a program gets to clean up when its time is over.
const termGrace = 15 * time.Second

// MountDisk makes the disk a root file system at a folder of its own and returns that:
// what is written there is in memory, and ends with the job.
func MountDisk() (root string, err error) {
	lower, rw := diskDir+"/lower", diskDir+"/rw"
	for _, d := range []string{lower, rw, diskRoot} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return "", err
		}
	}
	if err := unix.Mount(diskDevice, lower, diskFS, unix.MS_RDONLY|unix.MS_NODEV, ""); err != nil {
		return "", fmt.Errorf("mount the disk %s: %w", diskDevice, err)
	}
	if err := unix.Mount("tmpfs", rw, "tmpfs", 0, "mode=0755"); err != nil {
		return "", fmt.Errorf("mount %s: %w", rw, err)
	}
	for _, d := range []string{rw + "/upper", rw + "/work"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return "", err
		}
	}
	layers := "lowerdir=" + lower + ",upperdir=" + rw + "/upper,workdir=" + rw + "/work"
	if err := unix.Mount("overlay", diskRoot, "overlay", 0, layers); err != nil {
		return "", fmt.Errorf("mount the overlay %s: %w", layers, err)
	}
	return diskRoot, mountInside(diskRoot)
}

// mountInside gives the root at dir what programs expect. /run is the guest's own: the
// namespaces are named there. Sysfs shows the network devices of the namespace that the
// calling thread is in: [OnDisk] mounts it.
func mountInside(dir string) error {
	for _, m := range []struct {
		from, to, fstype string
		flags            uintptr
	}{
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"/dev", "/dev", "", unix.MS_BIND | unix.MS_REC},
		{"/run", "/run", "", unix.MS_BIND | unix.MS_REC},
		{"tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := unix.Mount(m.from, filepath.Join(dir, m.to), m.fstype, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s at %s%s: %w", m.from, dir, m.to, err)
		}
	}
	return nil
}

// mountSysfs mounts what goes with the network namespace of the calling thread.
func mountSysfs(dir string) error {
	for _, m := range []struct{ fstype, to string }{
		{"sysfs", "/sys"}, {"debugfs", "/sys/kernel/debug"}, {"tracefs", "/sys/kernel/tracing"}, {"bpf", "/sys/fs/bpf"},
	} {
		if err := unix.Mount(m.fstype, dir+m.to, m.fstype, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
			""); err != nil {
			return fmt.Errorf("mount %s at %s%s: %w", m.fstype, dir, m.to, err)
		}
	}
	return nil
}

// OnDisk runs a command of the disk, mounted at root, in the named network namespace:
// its exit status, as the shells have it. When ctx ends it is told to end, and killed if
// it does not. It is process 1 of a PID namespace, so that the network namespace of
// process 1, by which programs name the host's, is its own; /proc is still the guest's,
// until it mounts another. What it mounts goes with it.
func OnDisk(ctx context.Context, root, netns string, cmd *exec.Cmd) (exit int, err error) {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is of no use to others, and ends
		started <- start(root, netns, cmd)
	}()
	if err := <-started; err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = endGroup(cmd.Process.Pid, done)
	}
	if ee := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ee) {
		return 0, err
	}
	return exitStatus(unix.WaitStatus(cmd.ProcessState.Sys().(syscall.WaitStatus))), nil
}

// start starts a command of the disk from a thread that is moved to where it is to run.
func start(root, netns string, cmd *exec.Cmd) error {
	if _, err := Enter(netns); err != nil {
		return err
	}
	if _, err := os.Stat(root + "/sys/class"); errors.Is(err, os.ErrNotExist) {
		if err := mountSysfs(root); err != nil {
			return err
		}
	}
	if err := moveRoot(root); err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s of the disk: %w", cmd.Path, err)
	}
	return nil
}

// moveRoot makes dir the root of a mount namespace that the calling thread alone is in.
// chroot(2) is not enough: behind it the kernel makes no user namespaces
// (kernel/user_namespace.c: create_user_ns, Linux 7.3.4).
func moveRoot(dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("enter %s: %w", dir, err)
	}
	if err := unix.Mount(dir, "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the mount %s to /: %w", dir, err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("take %s as the root: %w", dir, err)
	}
	return unix.Chdir("/")
}

// endGroup ends a program and all that it has started.
func endGroup(pid int, done <-chan error) error {
	unix.Kill(pid, unix.SIGTERM) // the program alone: its children it ends itself
	select {
	case err := <-done:
		unix.Kill(-pid, unix.SIGKILL)
		return err
	case <-time.After(termGrace):
	}
	unix.Kill(-pid, unix.SIGKILL)
	return <-done
}
