// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/internal/trust"
	"golang.org/x/sys/unix"
)

// DirEnv names the folder of journals and locks, for tests and containers.
const DirEnv = "ZCBENCH_LEASE_DIR"

// runDir is root's folder, which a reboot empties as it does the settings.
const runDir = "/run/zcbench"

// Dir returns the folder of journals and locks, and makes it if it is not there: /run/zcbench for
// root; for others, and where root cannot have that, zcbench below $XDG_STATE_HOME. Root does what
// stands in it, so Dir refuses a folder that another user could change.
func Dir() (string, error) {
	dirs, why := folders()
	fix := "name a folder that nobody else can write to, for zcbench restore too: " + DirEnv + "=/PATH"
	if os.Geteuid() != 0 {
		fix = "changing a host's settings needs root: " + privilege.Fix(privilege.File, unix.CAP_DAC_OVERRIDE) +
			", or leave the setting out; or " + fix
	}
	if len(dirs) > 1 {
		fix = "mount a tmpfs on /run, or use root's own HOME (sudo -H); or " + fix
	}
	for _, d := range dirs {
		err := prepare(d)
		if err == nil {
			return d, nil
		}
		if te := (*trust.Error)(nil); errors.As(err, &te) && te.Path == d {
			fix = te.Fix() + "; or " + fix
		}
		if why != nil {
			err = fmt.Errorf("%w; %w", why, err)
		}
		why = err
	}
	return "", &fault.Error{Op: "prepare the folder of journals and locks", Err: fmt.Errorf("%w: nothing was changed",
		why), How: fix}
}

// folders lists where journals may lie, the preferred one first. Root looks also where it has put
// them when /run could not be written.
func folders() ([]string, error) {
	if d := os.Getenv(DirEnv); d != "" {
		return []string{d}, nil
	}
	var dirs []string
	if os.Geteuid() == 0 {
		dirs = append(dirs, runDir)
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return dirs, fmt.Errorf("find the user's folder: %w", err)
		}
		state = filepath.Join(home, ".local/state")
	}
	return append(dirs, filepath.Join(state, "zcbench")), nil
}

// othersRoot reports whether a folder is the machine's root's, and we are root only
// in a user namespace: what is in it is none of our business.
func othersRoot(dir string) bool {
	root, err := os.Stat("/")
	st, serr := os.Stat(dir)
	return err == nil && serr == nil && !ownedByUs(root) && uidOf(st) == uidOf(root)
}

// prepare makes a folder that nobody else can look into. One that an older
// zcbench has made can be read by all: then anybody could hold its locks.
func prepare(dir string) error {
	if err := trust.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return tighten(dir)
}

// tighten keeps others out of a folder that is known to be ours. One that has other
// uses stays as it is: its locks are private by their own mode.
func tighten(dir string) error {
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm()&0o077 == 0 || !madeForUs(dir) {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// enter checks a folder that may hold journals, and keeps others out of it. With
// Adopt one that is ours is taken although others can write there.
func enter(dir string, o FinishOptions) error {
	err := trust.Dir(dir)
	if trust.Untrusted(err) && o.Adopt && ownsDir(dir) && madeForUs(dir) {
		err = nil
	}
	if err != nil || o.DryRun {
		return err
	}
	return tighten(dir)
}

// ownsDir reports whether a folder is ours, and in a place where nobody can put
// another one.
func ownsDir(dir string) bool {
	st, err := os.Stat(dir)
	return trust.Reachable(dir) == nil && err == nil && st.IsDir() && ownedByUs(st)
}

// bootID reads what distinguishes one boot of the machine from the next.
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identify this boot: %w: mount -t proc proc /proc, without subset=pid", err)
	}
	return strings.TrimSpace(string(b)), nil
}
