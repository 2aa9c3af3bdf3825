// SPDX-License-Identifier: MIT

package doctor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/gpu"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// The rung of a GPU says what and where it is, whether its memory can be had, and what is in the
// way.
func TestGPURung(t *testing.T) {
	const nic, card, bare = "0000:42:00.0", "0000:44:00.0", "0000:45:00.0"
	const size = stream.DefaultAreaBytes
	root := t.TempDir()
	sys := gpu.FS(root)
	for pci, files := range map[string]map[string]string{nic: {"class": "0x020000"},
		card: {"class": "0x030000", "vendor": "0x10de", "device": "0x1fb0",
			"resource": "0x10000000 0x13ffffff 0x40200"}, // a window of 64 MiB
		bare: {"class": "0x120000", "vendor": "0x1002", "device": "0x74a1"}} {
		dir := filepath.Join(root, "devices/pci0000:40/0000:40:01.0/0000:41:00.0", pci)
		link := filepath.Join(root, "bus/pci/devices", pci)
		err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(dir, link))
		for name, text := range files {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../../drivers/nvidia", filepath.Join(root, "bus/pci/devices", card,
		"driver")); err != nil {
		t.Fatal(err)
	}
	asked := ""
	has := func(area string) (string, error) { asked = area; return "Fake T1000, cuMemAlloc", nil }
	refuses := func(string) (string, error) { return "", &fault.Error{Op: "cuInit: no", How: "nvidia-smi"} }
	const where = "NVIDIA 0000:44:00.0 (10de:1fb0, nvidia)"
	for _, c := range []struct {
		name         string
		found        gpuFact
		status, says string
		fix          string
	}{
		{"had", findGPU(sys, gpu.NVIDIA, nic, "cuda", size, has), "ok",
			where + ", Fake T1000, cuMemAlloc, behind one PCIe switch (0000:41:00.0)", ""},
		{"without a NIC", findGPU(sys, gpu.NVIDIA, "", "cuda", size, has), "ok", where + ", Fake T1000, cuMemAlloc",
			""},
		{"refused", findGPU(sys, gpu.NVIDIA, nic, "cuda", size, refuses), "warn", "(0000:41:00.0), cuInit: no",
			"nvidia-smi"},
		{"a small window", findGPU(sys, gpu.NVIDIA, nic, "cuda", size+1, has), "warn",
			"the GPU's memory window (BAR) has",
			"Resizable BAR"},
		{"no driver", findGPU(sys, gpu.AMD, nic, "rocm", size, has), "warn", "the driver of the GPU is not amdgpu",
			"modprobe amdgpu"},
		{"no such NIC", findGPU(sys, gpu.AMD, "0000:99:00.0", "rocm", size, has), "warn",
			"no PCI device 0000:99:00.0", "lspci"},
		{"none", findGPU(gpu.FS(t.TempDir()), gpu.AMD, nic, "rocm", size, has), "", "", ""},
	} {
		got := c.found.check("cuda")
		if got.Status != c.status || !strings.Contains(got.Found, c.says) || !strings.Contains(got.Fix, c.fix) ||
			(got.Status == "warn") != (got.Fix != "") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if asked != "cuda:"+card {
		t.Errorf("tried %q", asked)
	}
}

// device is memory that the CPU does not map, whose copies may do something else.
type device struct {
	*bytes.Reader
	write func(p []byte, off int64) (int, error)
}

func (d device) WriteAt(p []byte, off int64) (int, error) { return d.write(p, off) }

// Copies that bring back other bytes are found, and those that bring back nothing.
func TestGPUCopies(t *testing.T) {
	const size = 2 << 20
	for name, c := range map[string]struct {
		keep func(mem, p []byte, off int64)
		ok   bool
	}{
		"right":     {func(mem, p []byte, off int64) { copy(mem[off:], p) }, true},
		"nothing":   {func([]byte, []byte, int64) {}, false},
		"elsewhere": {func(mem, p []byte, off int64) { copy(mem[off-4096:], p) }, false},
		"a byte":    {func(mem, p []byte, off int64) { copy(mem[off:], p); mem[size-1] ^= 1 }, false},
	} {
		mem := make([]byte, size)
		d := device{bytes.NewReader(mem), func(p []byte, off int64) (int, error) {
			c.keep(mem, p, off)
			return len(p),
				nil
		}}
		err := copies(&dmabuf.Memory{FD: -1, Size: size, Device: d})
		if (err == nil) != c.ok || err != nil && fault.Fix(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
