// SPDX-License-Identifier: MIT

package endpoint

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
)

// turnReaders are those of an agent that read at a time. While there are any, garbage is not
// collected: who collects it stops all threads, and those that sleep in a call must be woken for
// it, which waits for a CPU behind the flow whose turn it is.
type turnReaders struct {
	mu      sync.Mutex
	all     []*turnReader
	percent int // of garbage, before
	limit   int64
}

var reading turnReaders

// mostMemory is from which on garbage is collected nevertheless, bytes.
const mostMemory = 1 << 30

func (r *turnReaders) begin(t *turnReader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		runtime.GC()
		r.percent, r.limit = debug.SetGCPercent(-1), debug.SetMemoryLimit(mostMemory)
	}
	r.all = append(r.all, t)
}

func (r *turnReaders) end(t *turnReader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(x *turnReader) bool { return x == t })
	if len(r.all) == 0 {
		debug.SetMemoryLimit(r.limit)
		debug.SetGCPercent(r.percent)
	}
}

// othersBytes returns what the flows of all others have had so far. In t's turn it is to stay as it
// is.
func (r *turnReaders) othersBytes(t *turnReader) (bytes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		if x != t {
			bytes += x.bytes()
		}
	}
	return bytes
}
