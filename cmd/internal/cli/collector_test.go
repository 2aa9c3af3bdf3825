// SPDX-License-Identifier: MIT

package cli

import (
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

func TestShareOf(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 4 << 20: 400, 5 << 20: 320, 8 << 20: 200,
		16 << 20: 100, 17 << 20: 100, 1 << 40: 100} {
		if got := shareOf(live); got != want {
			t.Errorf("%d bytes: %d %%, want %d", live, got, want)
		}
	}
}

func TestLimitOf(t *testing.T) {
	for live, want := range map[uint64]int64{0: 64 << 20, 100 << 20: 164 << 20, 256 << 20: 320 << 20,
		400 << 20: 500 << 20} {
		if got := limitOf(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

// A small heap may have much garbage, and a large one less than by itself.
func TestCalmCollector(t *testing.T) {
	calmCollector()
	for _, x := range []struct {
		bytes       int
		least, most uint64 // of the heap that is collected next
	}{
		{0, leastGarbage, 3 * leastGarbage},
		{8 * leastGarbage, 10 * leastGarbage, 14 * leastGarbage}, // 8 + 4 more, not 40 by 400 %
		{0, leastGarbage, 3 * leastGarbage},
	} {
		held := make([]byte, x.bytes)
		var m runtime.MemStats
		if !await.So(func() bool {
			runtime.GC() // soon after it the share is set
			runtime.Gosched()
			runtime.ReadMemStats(&m)
			return m.NextGC >= x.least && m.NextGC <= x.most
		}) {
			t.Fatalf("with %d bytes the next collection comes at a heap of %d, want %d to %d", x.bytes, m.NextGC,
				x.least, x.most)
		}
		runtime.KeepAlive(held)
	}
}

// GOGC and GOMEMLIMIT have the last word.
func TestCollectorAsAsked(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT", ""} {
		t.Setenv("GOGC", "")
		t.Setenv("GOMEMLIMIT", "")
		if name != "" {
			t.Setenv(name, "100MiB")
		}
		if got, want := leftAlone(), name != ""; got != want {
			t.Errorf("%q set: left alone %v, want %v", name, got, want)
		}
	}
}
