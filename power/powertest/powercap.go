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

// Powercap is the root of a tree as drivers/powercap makes it, with one package
// that draws watts until the test ends: what the kernel counts, a goroutine does
// here. What it has counted is late by as much as the goroutine gets no CPU.
func Powercap(t testing.TB, watts float64) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "intel-rapl:0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		tmp := filepath.Join(dir, name+".new")
		if err := os.WriteFile(tmp, []byte(text+"\n"), 0o644); err != nil {
			t.Error(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	put("name", "package-0")
	put("max_energy_range_uj", "262143328850")
	if err := os.WriteFile(filepath.Join(dir, "energy_uj"), []byte("0000000000000000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "energy_uj"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer f.Close()
		start := time.Now()
		for {
			select {
			case <-quit:
				return
			default:
			}
			await.Pause("the kernel counts anew each millisecond", time.Millisecond)
			now := time.Now()
			f.WriteAt(fmt.Appendf(nil, "%016d\n", int64(watts*float64(now.Sub(start).Microseconds()))), 0)
		}
	}()
	t.Cleanup(func() { close(quit); <-done })
	return root
}
