// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// needCompiler skips a test where the compiler of eBPF programs is not installed.
func needCompiler(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"clang-14", "llvm-strip-14", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: apt-get install clang-14 llvm-14", tool)
		}
	}
}

// generate compiles a program into a folder, as go generate does.
func generate(t *testing.T, dir, name, file string) {
	t.Helper()
	cmd := exec.Command("../mk/bpf2go.sh", "-output-dir", dir, name, file)
	cmd.Env = append(os.Environ(), "GOPACKAGE=bpf")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}

// The committed objects are what the sources say.
func TestGenerated(t *testing.T) {
	needCompiler(t)
	dir := t.TempDir()
	for _, name := range []string{"latency", "syscalls", "path", "overhead", "drops", "tasks", "redirect"} {
		generate(t, dir, name, name+".bpf.c")
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
