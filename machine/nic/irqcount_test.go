// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestIRQCount(t *testing.T) {
	defer func(old string) { irqRoot = old }(irqRoot)
	irqRoot = t.TempDir()
	if err := os.Mkdir(filepath.Join(irqRoot, "55"), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]uint64{"7,0,35\n": 42, "3\n": 3, "": 0, "1,x\n": 0} {
		if err := os.WriteFile(filepath.Join(irqRoot, "55/per_cpu_count"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if n, err := IRQCount(55); n != want && err == nil || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if _, err := IRQCount(56); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
