// SPDX-License-Identifier: MIT

package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/locked"

	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// hold locks a file as another process does, with what it says of itself, and
// deletes it after a while.
func hold(t *testing.T, path, says string, while time.Duration) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		_, err = f.WriteString(says)
	}
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	letGo := await.Later(while, func() {
		os.Remove(path)
		f.Close()
	})
	t.Cleanup(func() {
		if letGo.Stop() {
			f.Close()
		}
	})
}

// bubble runs a test whose clock is its own: to wait for a lock takes no time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// ownerIn is who a lock file says has it.
func ownerIn(path string) Owner {
	f, err := os.Open(path)
	if err != nil {
		return Owner{}
	}
	defer f.Close()
	return ownerOf(f)
}

// dead is what the lock file of a process that has ended says.
func dead(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$") // the lab has no other program
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(Owner{PID: cmd.Process.Pid, Command: "true", SinceNs: 1})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Who has no lease, or not any more, does not refuse one.
func TestLockOutlastsWhoHasNoLease(t *testing.T) {
	for name, says := range map[string]string{"sweeps": "", "writes": `{"pid":`, "died": dead(t)} {
		bubble(t, name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "host.lock")
			hold(t, path, says, 100*time.Millisecond)
			f, err := take(path, scope{"host.lock", "this machine"}, Owner{PID: os.Getpid()})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if !same(f, path) || ownerIn(path).PID != os.Getpid() {
				t.Errorf("the lock says %+v", ownerIn(path))
			}
		})
	}
}

func TestBusy(t *testing.T) {
	alive, err := json.Marshal(Owner{PID: os.Getpid(), Command: "zcbench agent", Session: "night-1 of zcbench run",
		SinceNs: 1e18})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says, err, fix string
		kill           bool
	}{
		{string(alive), "(zcbench agent, session night-1 of zcbench run) since 2001-09-09 01:46:40 UTC", "kill ", true},
		{"", "is leased to an unidentified process, by", "lslocks", false},
	} {
		bubble(t, c.err, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "host.lock")
			hold(t, path, c.says, time.Minute)
			_, err := take(path, scope{"host.lock", "this machine"}, Owner{PID: 1})
			var busy *Busy
			if !errors.As(err, &busy) || !strings.Contains(err.Error(), c.err) ||
				!strings.Contains(busy.Fix(), c.fix) || strings.Contains(busy.Fix(), "kill ") != c.kill {
				t.Errorf("%q: %v", c.says, err)
			}
		})
	}
}

// Leases are had while others sweep up after the dead.
func TestLockBesideSweep(t *testing.T) {
	defer func(usual time.Duration) { gateTime = usual }(gateTime)
	gateTime = await.Hang // the gate has a crowd before it
	dir := t.TempDir()
	var stop atomic.Bool
	var sweeping sync.WaitGroup
	for range 4 {
		sweeping.Go(func() {
			for !stop.Load() {
				sweep(dir)
			}
		})
	}
	for range long.Rounds(60, 300) {
		release, err := lock(dir, scope{"host.lock", "this machine"}, Owner{PID: os.Getpid()})
		if err != nil {
			t.Error(err)
			break
		}
		release()
	}
	stop.Store(true)
	sweeping.Wait()
}

// A lock is for nobody else to look at, or to hold.
func TestLockIsPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "host.lock")
	if err := os.WriteFile(path, nil, 0o644); err != nil { // as an older zcbench left it
		t.Fatal(err)
	}
	release, err := lock(dir, scope{"host.lock", "this machine"}, Owner{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", st.Mode(), err)
	}
	release()
	if e, _ := os.ReadDir(dir); len(e) != 0 {
		t.Errorf("left %v", e)
	}
}

// Only a file of ours is a lock.
func TestNoLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "host.lock")
	try := func(word string) {
		t.Helper()
		release, err := lock(dir, scope{"host.lock", "this machine"}, Owner{PID: os.Getpid()})
		if err == nil {
			release()
		}
		if err == nil || !strings.Contains(err.Error(), word) || fault.Fix(err) == "" {
			t.Errorf("%v, want %q and a fix", err, word)
		}
	}
	target := filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.WriteFile(target, []byte("keep"), 0o600), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	try("symbolic link")
	if b, _ := os.ReadFile(target); string(b) != "keep" {
		t.Errorf("the link's target says %q", b)
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	try("not a regular file")
	if os.Geteuid() != 0 {
		return
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600),
		os.Chown(path, stranger4711, stranger4711)); err != nil {
		t.Fatal(err)
	}
	try("belongs to user 4711")
}

// A process that was given the number of an owner that died is not to be killed.
func TestRecycledPID(t *testing.T) {
	me := self("")
	if me.StartTicks == 0 || me.PIDNS == 0 || me.gone() || !me.surely() {
		t.Fatalf("this process is %+v", me)
	}
	other, far, old := me, me, me
	other.StartTicks--
	far.PIDNS++
	old.StartTicks, old.PIDNS = 0, 0
	for name, c := range map[string]struct {
		busy       Busy
		gone, kill bool
	}{
		"the owner":              {Busy{Owner: me}, false, true},
		"another one":            {Busy{Owner: other, idle: true}, true, false},
		"became another one":     {Busy{Owner: other}, true, false},
		"elsewhere":              {Busy{Owner: far}, false, false},
		"of an older zcbench":    {Busy{Owner: old}, false, false},
		"and the kernel says so": {Busy{Owner: old, Holder: old.PID}, false, true},
	} {
		if got := c.busy.Owner.gone(); got != c.gone {
			t.Errorf("%s: gone is %v", name, got)
		}
		if fix := c.busy.Fix(); strings.Contains(fix, "kill ") != c.kill {
			t.Errorf("%s: %s", name, fix)
		}
	}
	// A lock whose owner died says so, and names who has the file.
	bubble(t, "held", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "host.lock")
		says, _ := json.Marshal(other)
		hold(t, path, string(says), time.Minute)
		_, err := take(path, scope{"host.lock", "this machine"}, me)
		var busy *Busy
		if !errors.As(err, &busy) || !busy.idle || busy.Holder != os.Getpid() ||
			!strings.Contains(err.Error(), "has ended") || !strings.Contains(busy.Fix(), "rm "+path) {
			t.Errorf("%v: %+v", err, busy)
		}
	})
}

// The lock of a process that died, held by another user who could read the file of
// an older zcbench, is taken all the same; that of a living one is not.
func TestLockHeldByStranger(t *testing.T) {
	needRoot(t)
	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("needs flock(1)")
	}
	base := t.TempDir()
	if err := os.Chmod(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(base, "host.lock")
	living, err := json.Marshal(self(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says string
		ours bool
	}{{dead(t), true}, {"", true}, {string(living), false}} {
		if err := os.WriteFile(path, []byte(c.says), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(flock, "--no-fork", path, "sleep", "3600")
		cmd.SysProcAttr = &unix.SysProcAttr{Credential: &syscall.Credential{Uid: stranger4711, Gid: stranger4711}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		await.Until(t, "another process has the lock", func() bool { return locked.By(f) == cmd.Process.Pid })
		f.Close()
		release, err := lock(base, scope{"host.lock", "this machine"}, self(""))
		if (err == nil) != c.ours {
			t.Errorf("%q: %v", c.says, err)
		}
		if err == nil {
			if has := ownerIn(path); has.PID != os.Getpid() {
				t.Errorf("the lock says %+v", has)
			}
			release()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		os.Remove(path)
	}
}

// What an owner says of itself, in whatever version, is not passed on as it is.
func TestOwnerIsCleaned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.lock")
	says := fmt.Sprintf(`{"pid":%d,"command":"zcbench `+
		`agent\u001b[31m","session":"a\u001b]0;x\u0007b","controller":"zcbench run --sut a --power command=curl `+
		`-u admin:SECRET","since_utc_ns":1}`, os.Getpid())
	var err error
	bubble(t, "held", func(t *testing.T) {
		hold(t, path, says, time.Minute)
		_, err = take(path, scope{"host.lock", "this machine"}, self(""))
	})
	if err == nil || strings.Contains(err.Error(), "SECRET") || strings.ContainsAny(err.Error(), "\x1b\a") ||
		!strings.Contains(err.Error(), "zcbench run --sut a --power …") {
		t.Errorf("%q", err)
	}
	ServeSession("s", "zcbench run --power command=curl -u admin:SECRET")
	defer ServeSession("", "")
	if o := self(""); o.Controller != "zcbench run --power …" {
		t.Errorf("%+v", o)
	}
}
