// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/zcbench/zcbench/mk"
)

// install installs what is missing, where the user has asked for it: as mk/install.sh
// does, so that no service of theirs starts and nothing is left behind.
func (n needs) install(ctx context.Context, log io.Writer) error {
	if len(n.packages) == 0 {
		return nil
	}
	if os.Geteuid() != 0 || !there("apt-get") {
		return errorf("install "+strings.Join(n.packages, " "), n.command(),
			"--install needs root, on Debian or Ubuntu")
	}
	fmt.Fprintf(log, "lab: installing %s\n", strings.Join(n.packages, " "))
	dir, err := os.MkdirTemp("", "zcbench-no-services-") // mode 0700
	if err != nil {
		return &Error{Op: "install packages", Err: err}
	}
	defer os.RemoveAll(dir)
	if err := writeNoServices(dir); err != nil {
		return &Error{Op: "install packages", Err: err}
	}
	args := append([]string{"install", "-y", "-qq", "--no-install-recommends"}, n.packages...)
	if _, err = aptSystem(ctx, dir, args...); err == nil {
		return nil
	}
	said, err := aptSystem(ctx, dir, "update", "-qq")
	if err == nil {
		said, err = aptSystem(ctx, dir, args...)
	}
	if err != nil {
		return &Error{"install packages: apt-get", fmt.Errorf("%w: %s", err, lastLines(said, 5)), ""}
	}
	return nil
}

// writeNoServices puts the programs there that stand before those which start services.
func writeNoServices(dir string) error {
	all, err := fs.ReadDir(mk.NoServices, "no-services")
	if err != nil {
		return err
	}
	for _, e := range all {
		text, err := fs.ReadFile(mk.NoServices, "no-services/"+e.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, e.Name()), text, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// aptSystem changes the system, with the programs in first before others. apt sets the
// PATH of dpkg itself, by an option, where it is 1.8 or newer. What has begun goes on to
// its end, whatever the user does meanwhile: dpkg that is killed leaves packages half
// installed, and the programs in first have to be there until it has ended.
func aptSystem(ctx context.Context, first string, args ...string) (string, error) {
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	path := first + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	cmd := exec.Command("apt-get", slices.Concat([]string{"-o", "DPkg::Path=" + path}, args)...)
	cmd.Env = append(os.Environ(), "PATH="+first+":"+os.Getenv("PATH"), "DEBIAN_FRONTEND=noninteractive")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is not for it
	out, err := cmd.CombinedOutput()
	return string(out), err
}
