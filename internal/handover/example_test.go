// SPDX-License-Identifier: MIT

package handover

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stand is what the page leaves to its readers: memory in a file.
const stand = `
import os
class Memory:
    def __init__(self, fd): self.fd = fd
    def to_host(self, off, n): return os.pread(self.fd, n, off)
    def from_host(self, off, b): os.pwrite(self.fd, b, off)
def make_and_export(size):
    fd = os.memfd_create("memory")
    os.ftruncate(fd, size)
    return fd, Memory(fd)
`

// The program of docs/memory.md hands memory over, and copies both ways.
func TestProgramOfDocs(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	page, err := os.ReadFile("../../docs/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^    import mmap(?:.*\n)+?(?:^\n)`).Find(page)
	script := filepath.Join(t.TempDir(), "hand-over")
	code := stand + strings.ReplaceAll(strings.TrimPrefix(string(text), "    "), "\n    ", "\n")
	if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Start("fd:hand-over", exec.Command(python, script), 1<<20)
	if err != nil {
		t.Fatalf("%v\n%s", err, code)
	}
	defer unix.Close(m.DMABuf)
	want, got := bytes.Repeat([]byte("zero copy"), 1000), make([]byte, 9000)
	if _, err := m.WriteAt(want, 77); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadAt(got, 77); err != nil || !bytes.Equal(got, want) || m.Size != 1<<20 ||
		m.Place != "0000:41:00.0" {
		t.Errorf("%+v, %v", m.Offer, err)
	}
	if err := (*copier)(m).ReadPieces(got[:8], [][2]int64{{77, 4}, {77 + 5, 4}}); err != nil ||
		string(got[:8]) != "zerocopy" {
		t.Errorf("%q, %v", got[:8], err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
