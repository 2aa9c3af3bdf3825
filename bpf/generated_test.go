// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The committed objects are what the sources say.
func TestGenerated(t *testing.T) {
	for _, tool := range []string{"clang-14", "llvm-strip-14", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: apt-get install clang-14 llvm-14", tool)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"latency", "syscalls", "path", "overhead", "drops", "tasks"} {
		cmd := exec.Command("../mk/bpf2go.sh", "-output-dir", dir, name, name+".bpf.c")
		cmd.Env = append(os.Environ(), "GOPACKAGE=bpf")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		for _, suffix := range []string{"_bpfel.go", "_bpfel.o"} {
			want, err := os.ReadFile(filepath.Join(dir, name+suffix))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(name + suffix); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s%s is not what its source says: go generate ./bpf (%v)", name, suffix, err)
			}
		}
	}
}
