// SPDX-License-Identifier: MIT

package dmabuf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/gpu"
)

// bus is a host with a GPU of each vendor, and nothing else.
func bus(t *testing.T) gpu.FS {
	t.Helper()
	root := t.TempDir()
	for pci, vendor := range map[string]string{"0000:41:00.0": "0x10de", "0000:c1:00.0": "0x1002"} {
		dir := filepath.Join(root, "devices/pci0000:40", pci)
		link := filepath.Join(root, "bus/pci/devices", pci)
		for _, d := range []string{dir, filepath.Dir(link)} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(dir, link); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"class": "0x030200", "vendor": vendor, "device": "0x1fb0"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	old := sysfs
	t.Cleanup(func() { sysfs = old })
	sysfs = gpu.FS(root)
	return sysfs
}

// The words that name a GPU are checked, and complete themselves.
func TestGPUWords(t *testing.T) {
	bus(t)
	for word, want := range map[string]string{"cuda": "cuda:0000:41:00.0", "rocm": "rocm:0000:c1:00.0",
		"cuda:0000:99:00.0": "cuda:0000:99:00.0", "udmabuf": "udmabuf"} {
		if got, err := NearTo(nil, word); err != nil || got != want {
			t.Errorf("%s: %s, %v", word, got, err)
		}
	}
	for _, bad := range []string{"cuda:", "cuda:0", "cuda:0000:41:00.0 ", "rocm:../x", "cuda:0000:41:00.0:1"} {
		if _, _, err := Find(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	sysfs = gpu.FS(t.TempDir())
	if _, err := NearTo(nil, "rocm"); err == nil || !strings.Contains(err.Error(), "no AMD GPU") || fault.Fix(err) == "" {
		t.Errorf("without a GPU: %v", err)
	}
}

// zcgpu is started with the provider's name and the GPU, by its descriptor, and what it says is
// told with its fix.
func TestGPUHelper(t *testing.T) {
	bus(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if _, err := Make("cuda", 4096); err == nil || !strings.Contains(err.Error(), "zcgpu, which loads the vendor's library") ||
		!strings.Contains(fault.Fix(err), "make build") {
		t.Errorf("there is none: %v; fix: %s", err, fault.Fix(err))
	}
	script := "#!/bin/sh\necho \"$0 $1 $2 said no\" >&2\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "zcgpu"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{"cuda": "/proc/self/fd/4 cuda 0000:41:00.0 said no",
		"rocm:0000:c1:00.0": "/proc/self/fd/4 rocm 0000:c1:00.0 said no"} {
		_, err := Make(word, 4096)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "exit status 3") ||
			fault.Fix(err) == "" {
			t.Errorf("%s: %v; fix: %s", word, err, fault.Fix(err))
		}
	}
}

// Memory that amdgpu moved to the host when the NIC was bound is no GPU's.
func TestMovedFromGPU(t *testing.T) {
	sys := bus(t)
	const pci = "0000:c1:00.0"
	uses := func(bytes string) {
		if err := os.WriteFile(filepath.Join(string(sys), "devices/pci0000:40", pci, "mem_info_gtt_used"), []byte(bytes+"\n"),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := &Memory{stays: staysOnGPU(sys, pci, 1<<20)}
	if err := m.Stays(); err != nil {
		t.Errorf("a driver that does not tell: %v", err)
	}
	uses("4096")
	m.stays = staysOnGPU(sys, pci, 1<<20)
	uses("1052671")
	if err := m.Stays(); err != nil {
		t.Errorf("a byte less than the memory: %v", err)
	}
	uses("1052672")
	if err := m.Stays(); err == nil || !strings.Contains(err.Error(), "from 4096 to 1052672 bytes") || fault.Fix(err) == "" {
		t.Errorf("moved: %v", err)
	}
	if err := (&Memory{}).Stays(); err != nil {
		t.Errorf("the host's own memory: %v", err)
	}
}

// What is between NIC and GPU is added to why the kernel does not give the NIC the memory.
func TestRefusedWithDistance(t *testing.T) {
	bus(t)
	m := &Memory{Place: "0000:41:00.0", Size: 1 << 20}
	all := m.between("0000:c1:00.0") // of the other vendor's, but a device
	if len(all) != 1 || !strings.Contains(all[0].Error(), "the driver of the GPU is not nvidia") {
		t.Errorf("%v", all)
	}
	for _, m := range []*Memory{{Place: ""}, {Place: "0000:99:00.0"}} {
		if all := m.between("0000:c1:00.0"); all != nil {
			t.Errorf("of %q: %v", m.Place, all)
		}
	}
	if all := m.between(""); all != nil {
		t.Errorf("of no NIC: %v", all)
	}
}
