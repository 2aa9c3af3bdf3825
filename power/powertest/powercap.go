// SPDX-License-Identifier: MIT

// Package powertest makes power instruments for tests.
package powertest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// Powercap makes a tree as drivers/powercap does, with one package that draws watts until the test
// ends, and returns its root: what the kernel counts, a goroutine does here. What it has counted is
// late by as much as the goroutine gets no CPU.
func Powercap(t testing.TB, watts float64) string {
	t.Helper()
	return Mirrored(t, watts, "package-0")
}

// Mirrored makes a tree like Powercap's whose zones all show one counter, a moment apart: so has a
// Threadripper 1950X package-0-die-0 and package-0-die-1.
func Mirrored(t testing.TB, watts float64, zones ...string) string {
	t.Helper()
	start := time.Now()
	return Counting(t, func() float64 { return watts * time.Now().Sub(start).Seconds() }, zones...)
}

// Counting makes such a tree whose zones show what joules returns, each millisecond anew.
func Counting(t testing.TB, joules func() float64, zones ...string) string {
	t.Helper()
	root := t.TempDir()
	var counters []*os.File
	for i, name := range zones {
		dir := filepath.Join(root, fmt.Sprintf("intel-rapl:%d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"name": name, "max_energy_range_uj": "262143328850",
			"energy_uj": fmt.Sprintf("%016d", 0)} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.OpenFile(filepath.Join(dir, "energy_uj"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		counters = append(counters, f)
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			await.Pause("the kernel counts anew each millisecond", time.Millisecond)
			counted := fmt.Appendf(nil, "%016d\n", int64(joules()*1e6))
			for _, f := range counters {
				f.WriteAt(counted, 0)
			}
		}
	}()
	t.Cleanup(func() {
		close(quit)
		<-done
		for _, f := range counters {
			f.Close()
		}
	})
	return root
}
