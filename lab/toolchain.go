// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// toolchainPackages are what building one module takes besides the kernel's
// headers, which bring the compiler the kernel was built with. None of the
// usual base packages is there unless it is named or depended upon.
var toolchainPackages = []string{
	"base-files", "bash", "binutils", "coreutils", "dash", "diffutils", "findutils", "gawk", "grep",
	"libc6-dev", "make", "pahole", "perl-base", "sed",
}

// makeToolchain unpacks the packages that k names into a cache folder: a small
// Debian, never installed (no maintainer script runs), used by chroot.
func (c *cache) makeToolchain(ctx context.Context, a *apt, k *kernel, log io.Writer) error {
	if c.has("toolchains", k.toolchain()) {
		return nil
	}
	err := c.folder(func(tmp string) (err error) {
		fmt.Fprintf(log, "lab: %s: fetching the module toolchain\n", k.Release)
		k.Toolchain, err = unpackRoot(ctx, a, tmp, append([]string{"linux-headers-" + k.Release}, toolchainPackages...),
			log)
		return err
	}, "toolchains", k.toolchain())
	return wrap("unpack the module toolchain", err)
}

// unpackRoot makes dir a root file system of pkgs and all they depend on, and
// returns the names of the archives that went into it.
func unpackRoot(ctx context.Context, a *apt, dir string, pkgs []string, log io.Writer) ([]string, error) {
	files, err := a.closure(ctx, pkgs)
	if err != nil {
		return nil, err
	}
	var size int64
	var names []string
	for _, f := range files {
		size += f.Size
		names = append(names, f.Name)
	}
	fmt.Fprintf(log, "lab: %d packages, %d MB\n", len(files), size/1e6)
	if err := a.fetch(ctx, pkgs, files); err != nil {
		return nil, err
	}
	defer a.clean()
	if err := mergedUsr(dir); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := unpackDeb(ctx, a.archive(f), dir); err != nil {
			return nil, err
		}
	}
	return names, alternatives(dir)
}

// mergedUsr creates the links from / into /usr that Debian's installer makes
// before the first package is unpacked.
func mergedUsr(root string) error {
	for _, d := range []string{"bin", "lib", "lib64", "sbin"} {
		if err := os.MkdirAll(filepath.Join(root, "usr", d), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+d, filepath.Join(root, d)); err != nil {
			return err
		}
	}
	for _, d := range []string{"dev", "proc", "tmp", "mnt"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// alternatives sets the links that maintainer scripts would set.
func alternatives(root string) error {
	for link, target := range map[string]string{"awk": "gawk", "sh": "dash"} {
		p := filepath.Join(root, "usr/bin", link)
		if err := os.Symlink(target, p); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// enterRoot is run by unshare(1) in new mount and PID namespaces: it gives the
// unpacked Debian at $1 a /proc (objtool reads it), the host's device nodes, a /tmp
// that nobody else can write and the folder $2 as /mnt, and runs the rest of its
// arguments inside. What they make is the user's alone to write.
const enterRoot = `set -e
root=$1 work=$2
shift 2
umask 022
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=0700 tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount --bind "$work" "$root/mnt"
exec chroot "$root" "$@"`

// inRoot runs a command in the root file system at root with work as /mnt. An
// unprivileged user gets there through a user namespace.
func inRoot(ctx context.Context, root, work string, log io.Writer, args ...string) error {
	if err := needTools("unshare", "chroot"); err != nil {
		return err
	}
	argv := []string{"--mount", "--pid", "--fork", "--kill-child"}
	if os.Geteuid() != 0 {
		argv = append(argv, "--map-root-user")
	}
	argv = append(argv, "/bin/sh", "-c", enterRoot, "sh", root, work)
	cmd := exec.CommandContext(ctx, "unshare", append(argv, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/tmp"}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}
