// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// The areas cuda and rocm find zcgpu, run it, and have its memory. Where this kernel makes no
// dmabufs of memory, what the libraries export is none, and refused as such.
func TestAreas(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"cuda", "rocm"} {
		f := build(t, kind)
		if err := os.Symlink(self, filepath.Join(f.libs, "zcgpu")); err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"PATH": f.libs + ":" + os.Getenv("PATH"), rootEnv: f.root,
			"LD_LIBRARY_PATH": f.libs, "FAKE": "", "FAKE_LEFT": f.left} {
			t.Setenv(name, value)
		}
		m, err := dmabuf.Make(kind+":"+f.pci, 4<<20)
		if _, serr := os.Stat("/dev/udmabuf"); serr != nil {
			if err == nil || !strings.Contains(err.Error(), kind+":0000:41:00.0: the descriptor is not a dmabuf") ||
				fault.Fix(err) == "" {
				t.Errorf("%s: %v", kind, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Repeat([]byte("payload "), 4<<17)
		got := make([]byte, len(want))
		if err := m.Write(0, want); err != nil {
			t.Error(err)
		}
		if err := m.Read(0, got); err != nil || !bytes.Equal(got, want) || m.Bytes != nil || m.Place != f.pci {
			t.Errorf("%s: %v, equal %v, %+v", kind, err, bytes.Equal(got, want), m)
		}
		if whole := kind == "cuda"; m.Whole() != whole { // the fake's ROCm has another's memory before it
			t.Errorf("%s: it is all of its dmabuf: %v", kind, !whole)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(f.left); string(b) != "0" {
			t.Errorf("%s: not given back: %q, %v", kind, b, err)
		}
	}
}
