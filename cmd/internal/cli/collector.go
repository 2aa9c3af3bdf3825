// SPDX-License-Identifier: MIT

package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// leastGarbage is how much a process may hold before it is collected: 4 MB by itself.
	leastGarbage = 16 << 20

	// usualShare of the heap, in percent, is what the collector waits for by itself (GOGC).
	usualShare = 100

	// mostGarbage is what a large heap may hold besides, unless leastShare of it, in percent, is
	// more, with what the collector gives back late: a report of 50,000 runs has 200 MB by itself.
	mostGarbage, leastShare = 64 << 20, 25

	// mostShare lets the smallest heap have as much garbage: with 100 % the collector waits
	// for a heap of 4 MB, and in proportion (runtime/mgcpacer.go: gcControllerState.init).
	mostShare = usualShare * leastGarbage / (4 << 20)
)

var calm sync.Once

// calmCollector lets the collector run when there is much to be collected. It runs whenever the
// heap has doubled, and that of an agent is a few MB: it ran after every few answers, for a tenth
// of the CPU time of a short run, and now and then while flows were measured. So small heaps may
// grow by a larger share than large ones, such as a report's, and the process is held to what they
// need. Who sets GOGC or GOMEMLIMIT has the last word.
func calmCollector() {
	if leftAlone() {
		return
	}
	calm.Do(func() {
		debug.SetGCPercent(mostShare)
		afterCollection()
	})
}

// leftAlone reports whether the user has said when the collector runs.
func leftAlone() bool { return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" }

// afterCollection sets the share anew after each collection: what it is for is garbage as soon as
// it is made. (Smaller objects share their memory with others, and may stay.)
func afterCollection() {
	runtime.AddCleanup(new([16]byte), func(uint64) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(shareOf(live[0].Value.Uint64()))
		debug.SetMemoryLimit(limitOf(live[0].Value.Uint64()))
		afterCollection()
	}, 0)
}

// shareOf computes which share of a heap is leastGarbage, and no less than the usual share.
func shareOf(live uint64) int {
	return int(min(max(usualShare, usualShare*leastGarbage/max(live, 1)), mostShare))
}

// limitOf computes what the process may take with such a heap: near it, memory is collected and
// given back at once.
func limitOf(live uint64) int64 {
	return int64(live + max(mostGarbage, live*leastShare/100))
}
