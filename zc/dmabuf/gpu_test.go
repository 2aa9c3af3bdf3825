// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/gpu"
	"golang.org/x/sys/unix"
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
	if _, err := NearTo(nil, "rocm"); err == nil || !strings.Contains(err.Error(), "no AMD GPU") ||
		fault.Fix(err) == "" {
		t.Errorf("without a GPU: %v", err)
	}
}

// saysNo makes this program a zcgpu that refuses, with what it was started with.
const saysNo = "ZCBENCH_TEST_SAYS_NO"

// zcgpu is started with the provider's name and the GPU, and what it says is told with its fix.
func TestGPUHelper(t *testing.T) {
	bus(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if _, err := Make("cuda", 4096); err == nil ||
		!strings.Contains(err.Error(), "zcgpu, which loads the vendor's library") ||
		!strings.Contains(fault.Fix(err), "make build") {
		t.Errorf("there is none: %v; fix: %s", err, fault.Fix(err))
	}
	self, err := os.ReadFile("/proc/self/exe") // not a script: the lab has no shell
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "zcgpu"), self, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(saysNo, "1")
	for word, want := range map[string]string{"cuda": "zcgpu cuda 0000:41:00.0 said no",
		"rocm:0000:C1:00.0": "zcgpu rocm 0000:c1:00.0 said no",
		"rocm:0000:c1:00.0": "zcgpu rocm 0000:c1:00.0 said no"} {
		_, err := Make(word, 4096)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "exit status 3") ||
			fault.Fix(err) == "" {
			t.Errorf("%s: %v; fix: %s", word, err, fault.Fix(err))
		}
	}
}

// Memory that amdgpu moved to the host when the NIC was bound is no GPU's, nor is memory of which
// nothing tells.
func TestMovedFromGPU(t *testing.T) {
	const pci, size = "0000:c1:00.0", 4 << 20
	proc := t.TempDir()
	dir := filepath.Join(proc, "77/fdinfo")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	node := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("pos:\t0\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	amdgpu := func(at string, kib int) string {
		return fmt.Sprintf(
			"drm-driver:\tamdgpu\ndrm-pdev:\t%s\ndrm-memory-vram:\t%d KiB\ndrm-memory-gtt: \t99999 KiB\n",
			at, kib)
	}
	bound := func() func() error {
		return staysOnGPU(pci, size, func() (int64, bool) { return onGPU(proc, 77, pci) })
	}
	refused := func(how string, stays func() error, want string) {
		t.Helper()
		if err := (&Memory{stays: stays}).Stays(); err == nil || !strings.Contains(err.Error(), want) ||
			fault.Fix(err) == "" {
			t.Errorf("%s: %v", how, err)
		}
	}
	refused("no node", bound(), "nothing tells")
	node("5", amdgpu("0000:41:00.0", 1<<20))
	refused("another GPU's node", bound(), "nothing tells")
	node("6", "drm-driver:\tamdgpu\ndrm-pdev:\t"+pci+"\n")
	refused("a node that does not tell", bound(), "nothing tells")
	node("6", amdgpu(pci, 4095))
	refused("what is not counted", bound(), "nothing tells")
	node("6", amdgpu(pci, 4096+64))
	node("7", amdgpu(pci, 0)) // of another part of the library
	stays := bound()
	if err := (&Memory{stays: stays}).Stays(); err != nil {
		t.Errorf("it stays: %v", err)
	}
	node("6", amdgpu(pci, 64))
	refused("moved", stays, "from 4259840 to 65536 bytes")
	os.Remove(filepath.Join(dir, "6"))
	os.Remove(filepath.Join(dir, "7"))
	refused("the node is gone", stays, "nothing tells")
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

// What device has the memory is told with its name: of the host's memory nothing is.
func TestWhere(t *testing.T) {
	bus(t)
	m := &Memory{Place: "0000:41:00.0", Name: "T1000"}
	if got := m.Where(nil); got != "0000:41:00.0: T1000" {
		t.Errorf("%q", got)
	}
	if got := m.where("0000:c1:00.0"); got != "0000:41:00.0 below one host bridge (pci0000:40): T1000" {
		t.Errorf("%q", got)
	}
	if got := (&Memory{Name: "udmabuf"}).Where(nil); got != "" {
		t.Errorf("%q", got)
	}
}

// Memory that the exporter shows to nobody is had without a view; where there is no room for one,
// it is not.
func TestNoView(t *testing.T) {
	fd, err := unix.MemfdCreate("memory", 0)
	if err != nil {
		t.Fatal(err)
	}
	m := &Memory{FD: -1, Size: 1 << 50} // more than an address space has
	m.keep(fd)
	defer m.Close()
	if err := m.seeIfShown(); !errors.Is(err, unix.ENOMEM) || fault.Fix(err) == "" || m.Bytes != nil {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[1])
	p := &Memory{Size: 4096}
	p.keep(pipe[0])
	defer p.Close()
	if err := p.seeIfShown(); err != nil || p.Bytes != nil {
		t.Errorf("what cannot be mapped: %v", err)
	}
}
