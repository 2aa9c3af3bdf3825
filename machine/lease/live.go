// SPDX-License-Identifier: MIT

package lease

import (
	"fmt"
	"os"
	"slices"
	"sync"
)

// live are the leases of this process that have something to restore.
var live registry

type registry struct {
	mu  sync.Mutex
	all []*Lease
}

func (r *registry) add(l *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, l)
}

func (r *registry) remove(l *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(x *Lease) bool { return x == l })
}

// OnPanic, deferred in a goroutine, restores every lease of this process when the
// goroutine panics, and lets the panic go on. A lease that is busy at that moment
// is left to [Finish].
func OnPanic() {
	p := recover()
	if p == nil {
		return
	}
	live.mu.Lock()
	all := slices.Clone(live.all)
	live.mu.Unlock()
	for _, l := range slices.Backward(all) {
		if !l.mu.TryLock() {
			continue
		}
		l.mu.Unlock()
		if err := l.Restore(); err != nil {
			fmt.Fprintf(os.Stderr, "zcbench: %v\n", err)
		}
	}
	panic(p)
}
