// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// needs is what the lab lacks on this machine, found before anything is fetched.
type needs struct {
	packages []string // Debian's, that have what is missing
	others   []string // what no package brings
}

// work is what a call of Build will have to do.
type work struct {
	fetch   bool  // packages, with apt
	compile bool  // the module, in the toolchain
	space   int64 // bytes that the cache will grow by
}

// Space that things take, with the archives they are unpacked from.
const (
	kernelSpace    = 150 << 20
	toolchainSpace = 700 << 20
)

// workFor finds out what is missing in the cache.
func (c *cache) workFor(suites []string, lf *lockFile, refresh bool) (w work) {
	for _, s := range suites {
		k := lf.find(s)
		kernel := k == nil || refresh || !c.has("kernels", k.Release)
		module := k == nil || refresh || !c.has("modules", moduleKey(k.Release))
		toolchain := module && (k == nil || refresh || !c.has("toolchains", k.toolchain()))
		w.fetch = w.fetch || kernel || toolchain
		w.compile = w.compile || module
		if kernel {
			w.space += kernelSpace
		}
		if toolchain {
			w.space += toolchainSpace
		}
	}
	return w
}

// programs lists the programs that the lab starts, and the packages that have them.
func (w work) programs() [][2]string {
	p := [][2]string{{"qemu-system-x86_64", "qemu-system-x86"}}
	if w.fetch {
		p = append(p, [][2]string{{"apt-get", "apt"}, {"apt-cache", "apt"}, {"apt-config", "apt"}, {"dpkg-deb", "dpkg"},
			{keyring, "debian-archive-keyring"}}...)
	}
	if w.fetch || w.compile {
		p = append(p, [][2]string{{"unshare", "util-linux"}, {"mount", "mount"}, {"chroot", "coreutils"}}...)
	}
	return p
}

// check looks for everything that the work needs.
func (w work) check(ctx context.Context, dir string) needs {
	var n needs
	for _, p := range w.programs() {
		if !there(p[0]) && !slices.Contains(n.packages, p[1]) {
			n.packages = append(n.packages, p[1])
		}
	}
	miss := func(err error) {
		if err != nil {
			n.others = append(n.others, err.Error())
		}
	}
	if w.fetch && there("apt-get") {
		_, err := findMirror(ctx)
		miss(unlabelled(err))
	}
	// apt's sandbox, too, is a mount namespace.
	if (w.compile || w.fetch && findSandbox(ctx).on) && there("unshare") && there("mount") {
		miss(canEnter(ctx))
	}
	if w.space > 0 {
		miss(checkSpace(dir, w.space))
	}
	return n
}

// there reports whether a program is in PATH, or a file at its place.
func there(name string) bool {
	if filepath.IsAbs(name) {
		_, err := os.Stat(name)
		return err == nil
	}
	_, err := exec.LookPath(name)
	return err == nil
}

// unlabelled strips from an error the word for whose it is.
func unlabelled(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), "lab: "))
}

// canEnter tries whether the toolchain can be entered, as [inRoot] does. Root may not in most
// containers.
func canEnter(ctx context.Context) error {
	argv := []string{"--mount", "--pid", "--fork"}
	if os.Geteuid() != 0 {
		argv = append(argv, "--map-root-user")
	}
	out, err := exec.CommandContext(ctx, "unshare",
		append(argv, "/bin/sh", "-c", "mount -t proc proc /proc")...).CombinedOutput()
	switch {
	case err == nil:
		return nil
	case os.Geteuid() == 0:
		return fmt.Errorf("root may not make mount and PID namespaces here (%s): a container needs CAP_SYS_ADMIN "+
			"and an unmasked /proc "+
			"for that (docker run --privileged); else run this outside of it", lastLines(string(out), 1))
	}
	return fmt.Errorf(
		"unprivileged user namespaces do not work here (%s): allow them, or run this as root, with root's cache",
		lastLines(string(out), 1))
}

// checkSpace looks whether what is fetched and unpacked has room below dir.
func checkSpace(dir string, want int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("statfs %s: %w", dir, err)
	}
	free := int64(st.Bavail) * st.Bsize
	if free < want {
		return fmt.Errorf("%d MB of disk space are needed at %s, but %d MB are free: free space, or name another "+
			"cache with --cache",
			want>>20, dir, free>>20)
	}
	return nil
}

// command returns the shell command that installs what is missing.
func (n needs) command() string {
	sudo := "sudo "
	if os.Geteuid() == 0 {
		sudo = ""
	}
	return sudo + "apt-get install --no-install-recommends " + strings.Join(n.packages, " ")
}

// err reports all that is missing in one error, nil if nothing is.
func (n needs) err() error {
	var what, fix []string
	if len(n.packages) > 0 {
		what = append(what, "missing packages: "+strings.Join(n.packages, ", "))
		how := n.command()
		if os.Geteuid() == 0 {
			how += " (or pass --install)"
		}
		fix = append(fix, "on Debian or Ubuntu: "+how)
	}
	what = append(what, n.others...)
	if len(what) == 0 {
		return nil
	}
	return errorf("check what the lab needs", strings.Join(fix, ""), "%s", strings.Join(what, "; "))
}
