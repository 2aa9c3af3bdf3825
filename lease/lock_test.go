package lease

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	letGo := time.AfterFunc(while, func() {
		os.Remove(path)
		f.Close()
	})
	t.Cleanup(func() {
		if letGo.Stop() {
			f.Close()
		}
	})
}

// dead is what the lock file of a process that is no more says.
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
		t.Run(name, func(t *testing.T) {
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
	alive, err := json.Marshal(Owner{PID: os.Getpid(), Command: "zcbench agent", Session: "night-1 of zcbench run", SinceNs: 1e18})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says, err, fix string
		kill           bool
	}{
		{string(alive), "(zcbench agent, session night-1 of zcbench run) since 2001-09-09 01:46:40 UTC", "kill ", true},
		{"", "does not say who it is", "lslocks", false},
	} {
		path := filepath.Join(t.TempDir(), "host.lock")
		hold(t, path, c.says, time.Minute)
		_, err := take(path, scope{"host.lock", "this machine"}, Owner{PID: 1})
		var busy *Busy
		if !errors.As(err, &busy) || !strings.Contains(err.Error(), c.err) || !strings.Contains(busy.Fix(), c.fix) || strings.Contains(busy.Fix(), "kill ") != c.kill {
			t.Errorf("%q: %v", c.says, err)
		}
	}
}

// Leases are had while others sweep up after the dead.
func TestLockBesideSweep(t *testing.T) {
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
	for range 300 {
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
