// SPDX-License-Identifier: MIT

package host_test

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// stripped is this test binary without what only debuggers read: a third less to copy,
// and to hash on both ends of every link.
var stripped = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return "", err
	}
	f, err := elf.Open(self)
	if err != nil {
		return "", err
	}
	defer f.Close()
	end := uint64(0)
	for _, p := range f.Progs {
		end = max(end, p.Off+p.Filesz)
	}
	if f.Class == elf.ELFCLASS64 { // else it stays as it is
		b = b[:end]
		binary.NativeEndian.PutUint64(b[0x28:], 0) // e_shoff
		binary.NativeEndian.PutUint32(b[0x3c:], 0) // e_shnum, e_shstrndx
	}
	name := filepath.Join(scratch, "zcbench")
	if err := os.WriteFile(name, b, 0o700); err != nil {
		return "", err
	}
	return name, exec.Command(name, "-test.run", "^$").Run()
})

// scratch is a folder for all tests.
var scratch string

func program(t testing.TB) string {
	t.Helper()
	name, err := stripped()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// placed puts the program where it would be after a first link, for tests that are not
// about copying it.
func (f *far) placed() *far {
	f.t.Helper()
	b, err := os.ReadFile(program(f.t))
	if err != nil {
		f.t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	dir := filepath.Join(f.Home, ".cache/zcbench/agent", hex.EncodeToString(sum[:]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "zcbench"), b, 0o700); err != nil {
		f.t.Fatal(err)
	}
	return f
}
