// SPDX-License-Identifier: MIT

package cli

import (
	"runtime"
	"testing"
)

// The collector waits for as much garbage as the ballast has bytes, and GOGC has the last word.
func TestCalmCollector(t *testing.T) {
	defer func() { ballast = nil; runtime.GC() }()
	next := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NextGC
	}
	t.Setenv("GOGC", "100")
	if calmCollector(); ballast != nil {
		t.Error("there is a ballast, though GOGC is set")
	}
	if bytes := next(); bytes >= 2*ballastBytes {
		t.Fatalf("without one the next collection comes at a heap of %d bytes already", bytes)
	}
	t.Setenv("GOGC", "")
	calmCollector()
	if bytes := next(); bytes < 2*ballastBytes {
		t.Errorf("the next collection comes at a heap of %d bytes, of which %d are ballast", bytes, ballastBytes)
	}
}
