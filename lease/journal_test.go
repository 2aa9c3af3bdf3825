package lease

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
			for range 100 {
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
