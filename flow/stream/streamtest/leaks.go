// SPDX-License-Identifier: MIT

package streamtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// Held is what a process holds.
type Held struct {
	FDs, Goroutines int
	Payloads, Rings int // mappings of payload memory and of io_uring queues
	ResidentBytes   int
}

// Holding looks at this process.
func Holding(t testing.TB) Held {
	t.Helper()
	debug.FreeOSMemory()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return Held{FDs: len(fds), Goroutines: runtime.NumGoroutine(),
		Payloads:      bytes.Count(maps, []byte("memfd:zcbench-payload")),
		Rings:         bytes.Count(maps, []byte("anon_inode:[io_uring]")),
		ResidentBytes: pages * os.Getpagesize()}
}

// NoMore waits until the process holds no more than before, and fails the test if
// that hangs; slackBytes is how much the heap may have grown.
func NoMore(t testing.TB, before Held, slackBytes int) {
	t.Helper()
	var why string
	if !await.So(func() bool {
		now := Holding(t)
		switch {
		case now.FDs > before.FDs, now.Goroutines > before.Goroutines, now.Payloads > before.Payloads,
			now.Rings > before.Rings:
			why = fmt.Sprintf("left behind: %+v, before %+v", now, before)
		case now.ResidentBytes > before.ResidentBytes+slackBytes:
			why = fmt.Sprintf("resident memory grew from %d to %d bytes", before.ResidentBytes, now.ResidentBytes)
		default:
			return true
		}
		return false
	}) {
		t.Error(why)
	}
}
