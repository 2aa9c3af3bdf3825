// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// A journal that is made while others look for those of the dead is not taken for
// one: once it is made it is there, whole, and locked.
func TestCreateBesideFinish(t *testing.T) {
	for name, dry := range map[string]bool{"restore": false, "dry run": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var stop atomic.Bool
			var looking sync.WaitGroup
			for range 4 {
				looking.Go(func() {
					for !stop.Load() {
						if _, err := Finish(FinishOptions{Dir: dir, DryRun: dry}); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			owner := Owner{PID: os.Getpid(), SinceNs: time.Now().UnixNano()}
			head := line{Kind: journalKind, Version: Version, BootID: "now", Owner: &owner}
			for range long.Rounds(25, 100) {
				f, err := create(dir, head)
				if err != nil {
					t.Error(err)
					break
				}
				if !same(f.f, f.f.Name()) {
					t.Errorf("the journal %s was removed", f.f.Name())
				} else if j, err := read(f.f); err != nil || j.Owner != owner {
					t.Errorf("the journal says %+v, %v", j, err)
				}
				if err := f.remove(); err != nil {
					t.Error(err)
				}
				if t.Failed() {
					break
				}
			}
			stop.Store(true)
			looking.Wait()
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// A folder that is full in the middle of a line leaves a journal that can be read,
// and written when there is room again.
func TestIntegrationJournalWithoutRoom(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mounts a small file system")
	}
	dir := t.TempDir()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // ends with the goroutine: its mounts are its own
		err := errors.Join(unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_FS),
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8k"))
		if err == nil {
			err = fillJournal(dir)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func fillJournal(dir string) error {
	owner := Owner{PID: os.Getpid(), SinceNs: 1}
	f, err := create(dir, line{Kind: journalKind, Version: Version, BootID: "now", Owner: &owner})
	if err != nil {
		return err
	}
	defer f.f.Close()
	long := line{Steps: []step{{Name: "sysctl long", Set: strings.Repeat("x", 9000)}}}
	if err := f.write(long); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("a line without room: %w", err)
	}
	if err := f.write(line{Steps: []step{{Name: "mtu", Before: "1", Set: "2"}}}); err != nil {
		return err
	}
	j, err := read(f.f)
	if err != nil || len(j.Steps) != 1 || j.Torn {
		return fmt.Errorf("the journal says %+v: %w", j, err)
	}
	return nil
}
