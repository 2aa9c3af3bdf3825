// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/locked"

	"golang.org/x/sys/unix"
)

// gateFile is locked while locks are taken, replaced or swept up. Older versions do
// not know it: nobody else has ever been able to open it.
const gateFile = "gate.lock"

// gateTime is how long another process may need for that: it makes a few system
// calls.
var gateTime = 5 * time.Second // tests have more patience

// gated does f while no other process of this version takes or removes a lock in a
// folder. Without it a file could be replaced that has just found a new owner.
func gated(dir string, f func() error) error {
	path := filepath.Join(dir, gateFile)
	for end := time.Now().Add(gateTime); ; time.Sleep(200 * time.Microsecond) {
		g, err := openLock(path)
		if err != nil {
			return err
		}
		err = unix.Flock(int(g.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && same(g, path) {
			defer func() {
				os.Remove(path) // before the lock goes
				g.Close()
			}()
			return f()
		}
		who := "a process"
		if pid := locked.By(g); pid > 0 {
			who = fmt.Sprintf("process %d", pid)
		}
		g.Close()
		switch {
		case err != nil && !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("flock %s: %w", path, err)
		case err != nil && time.Now().After(end):
			return &fault.Error{Op: fmt.Sprintf("%s has been locked for %v by %s", path, gateTime, who),
				How: "if that process is stopped, continue it: kill -CONT (lslocks shows which it is)"}
		}
	}
}
