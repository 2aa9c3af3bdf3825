// SPDX-License-Identifier: MIT

package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// The collector waits for as much garbage as the ballast has bytes, and GOGC has the last word.
func TestCalmCollector(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	ballast = nil // of a test before this one
	next := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NextGC
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "100")
		if calmCollector(); ballast != nil {
			t.Errorf("there is a ballast, though %s is set", name)
		}
		t.Setenv(name, "")
	}
	if bytes := next(); bytes >= 2*ballastBytes {
		t.Fatalf("without one the next collection comes at a heap of %d bytes already", bytes)
	}
	calmCollector()
	if bytes := next(); bytes < 2*ballastBytes {
		t.Errorf("the next collection comes at a heap of %d bytes, of which %d are ballast", bytes, ballastBytes)
	}
}
