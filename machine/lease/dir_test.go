// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/internal/trust"
	"golang.org/x/sys/unix"
)

// A folder that an older zcbench has made is worked off as ever, and nobody else
// can look into it afterwards.
func TestFolderIsTightened(t *testing.T) {
	m := newMachine()
	dir, _ := leftBehind(t, m)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := finishDir(t, FinishOptions{Dir: dir, DryRun: true}); r.State != Owing {
		t.Errorf("%+v", r)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("a dry run made it %v, %v", st.Mode(), err)
	}
	if r := finishDir(t, FinishOptions{Dir: dir}); r.State != Finished || m.values["mtu"] != "1500" {
		t.Errorf("%+v", r)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("it is %v, %v", st.Mode(), err)
	}
}

// The folder of journals is ours alone, wherever it is said to be.
func TestDirIsOurs(t *testing.T) {
	base := t.TempDir()
	t.Setenv(DirEnv, filepath.Join(base, "new", "dir"))
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("made with %v, %v", st.Mode(), err)
	}
	open := filepath.Join(base, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{open, filepath.Join(open, "below")} {
		t.Setenv(DirEnv, d)
		if _, err := Dir(); err == nil || !trust.Untrusted(err) ||
			!strings.Contains(err.Error(), "writable by everybody") ||
			!strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v", d, err)
		}
		l := New(Options{})
		l.where.fake = newMachine().setting
		if err := l.Apply(Want{"eth0", "mtu", "9000"}); !trust.Untrusted(err) {
			t.Errorf("a lease with %s: %v", d, err)
		}
	}
}

// Root whose /run cannot be written does not use the folder of the user who has
// become root and kept HOME.
func TestIntegrationDirOfAnotherUser(t *testing.T) {
	needRoot(t)
	base := t.TempDir()
	home := filepath.Join(base, "home")
	if err := errors.Join(os.Chmod(filepath.Dir(base), 0o755), os.Mkdir(home, 0o755),
		os.Chown(home, stranger4711, stranger4711)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(DirEnv, "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", home)
	withoutRun(t, func() error {
		_, err := Dir()
		if err == nil || !strings.Contains(err.Error(), "belongs to user 4711") ||
			!strings.Contains(err.Error(), "read-only") {
			return fmt.Errorf("another's home: %w", err)
		}
		if how := fault.Fix(err); strings.Contains(how, "chown") || !strings.Contains(how, "sudo -H") ||
			!strings.Contains(how, DirEnv) {
			return fmt.Errorf("the fix is %q", how)
		}
		if e, _ := os.ReadDir(home); len(e) != 0 {
			return fmt.Errorf("made %v there", e)
		}
		// What an older zcbench put there is shown, and nothing else that is there.
		state := filepath.Join(home, ".local/state/zcbench")
		ours, theirs := filepath.Join(state, "2-1-0.lease"), filepath.Join(state, "1-1-0.lease")
		const journal = "{\"kind\":\"zcbench-lease\",\"version\":2,\"boot_id\":\"b\"," +
			"\"owner\":{\"pid\":1}}\n{\"steps\":[{\"setting\":\"irqbalance\",\"before\":\"running\"," +
			"\"set\":\"stopped\"}]}\n"
		if err := errors.Join(os.MkdirAll(state, 0o755), os.WriteFile(ours, []byte(journal), 0o600),
			os.WriteFile(theirs, []byte(journal), 0o600), os.Chown(theirs, stranger4711, stranger4711)); err != nil {
			return err
		}
		for _, o := range []FinishOptions{{}, {All: true}, {All: true, Adopt: true}} {
			r, err := Finish(o)
			if err != nil || len(r) != 1 || r[0].Journal != ours || r[0].State != Refused || len(r[0].Steps) != 1 ||
				!strings.Contains(r[0].Fix, "cp -- "+ours) {
				return fmt.Errorf("%+v: %+v, %w", o, r, err)
			}
		}
		if err := os.RemoveAll(filepath.Join(home, ".local")); err != nil {
			return err
		}
		if r, err := Finish(FinishOptions{All: true}); err != nil || len(r) != 0 {
			return fmt.Errorf("nothing is there: %+v, %w", r, err)
		}
		if err := os.Chown(home, 0, 0); err != nil {
			return err
		}
		d, err := Dir()
		if want := filepath.Join(home, ".local/state/zcbench"); err != nil || d != want {
			return fmt.Errorf("one's own home: %q, %w", d, err)
		}
		return nil
	})
}

// withoutRun does f where /run is an empty file system that cannot be written.
func withoutRun(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // ends with the goroutine: its mounts are its own
		err := errors.Join(unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_FS),
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", "/run", "tmpfs",
				unix.MS_RDONLY, ""))
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A home that is none does not keep anybody from starting a run: no journal can be
// there.
func TestHomeThatIsNone(t *testing.T) {
	t.Setenv(DirEnv, "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/dev/null")
	dir := filepath.Join(os.Getenv("HOME"), "state")
	if r, err := Finish(FinishOptions{Dir: dir, All: true}); err != nil || len(r) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if os.Geteuid() != 0 {
		os.Unsetenv("HOME")
		if _, err := Finish(FinishOptions{}); err == nil || !strings.Contains(fault.Fix(err), DirEnv) {
			t.Errorf("without HOME: %v, fix %q", err, fault.Fix(err))
		}
	}
}

// Nor does root need a home that it can look into: only who asks is told of it.
func TestIntegrationHomeThatCannotBeEntered(t *testing.T) {
	needRoot(t)
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(home, home); err != nil {
		t.Fatal(err)
	}
	t.Setenv(DirEnv, "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", home)
	withoutRun(t, func() error {
		if r, err := Finish(FinishOptions{}); err != nil || len(r) != 0 {
			return fmt.Errorf("a start: %+v, %w", r, err)
		}
		if _, err := Finish(FinishOptions{All: true}); err == nil || !strings.Contains(fault.Fix(err), "HOME") {
			return fmt.Errorf("restore: %w, fix %q", err, fault.Fix(err))
		}
		return nil
	})
}
