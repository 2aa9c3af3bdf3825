// SPDX-License-Identifier: MIT

// Package frugal holds what reads anybody's words to bounds, whatever these say.
package frugal

import (
	"runtime"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// most is how many bytes may be allocated, in all, for one input of a fuzz target.
const most = 300 << 20

// Do fails a test if f hangs, or allocates more than a reader of a small file may. Nothing else
// allocates meanwhile, as fuzz targets run one after another in their process.
func Do(t testing.TB, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	await.Return(t, "an input of a fuzz target", f)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Fatalf("%d MB were allocated for one input", n>>20)
	}
}
