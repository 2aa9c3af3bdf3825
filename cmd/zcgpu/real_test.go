// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/handover"
	"github.com/zcbench/zcbench/machine/gpu"
	"golang.org/x/sys/unix"
)

// On a machine that has a GPU and its driver, memory is made, exported as a dmabuf, and copied both
// ways, or what the vendor's library says instead has a fix. -v shows what was met.
func TestRealGPU(t *testing.T) {
	found := false
	for kind, v := range map[string]gpu.Vendor{"cuda": gpu.NVIDIA, "rocm": gpu.AMD} {
		for _, g := range gpu.Host.List(v) {
			if g.Driver == v.Driver() {
				found = true
				t.Run(kind+" "+g.PCI, func(t *testing.T) { real(t, kind, g) })
			}
		}
	}
	if !found {
		t.Skip("needs a GPU with NVIDIA's or AMD's driver: allocates, exports and copies memory of it")
	}
}

func real(t *testing.T, kind string, g gpu.GPU) {
	open := func(pci string, size int64) (*handover.Memory, error) {
		cmd := exec.Command("/proc/self/exe", kind, pci)
		cmd.Env = append(os.Environ(), rootEnv+"=/")
		return handover.Start("zcgpu", cmd, size)
	}
	t.Logf("%v, memory window %d MiB", g, g.Window>>20)
	for what, refused := range map[string]func() (*handover.Memory, error){
		"a GPU that is not there": func() (*handover.Memory, error) { return open("fffe:ff:1f.7", 1<<20) },
		"8 TiB":                   func() (*handover.Memory, error) { return open(g.PCI, 8<<40) }} {
		m, err := refused()
		if err == nil {
			m.Close()
			t.Errorf("%s was had", what)
		} else if t.Logf("%s: %v; fix: %s", what, err, fault.Fix(err)); fault.Fix(err) == "" {
			t.Errorf("%s: %v has no fix", what, err)
		}
	}
	const size = 64 << 20
	m, err := open(g.PCI, size)
	if err != nil {
		if fault.Fix(err) == "" {
			t.Errorf("%v has no fix", err)
		}
		t.Skipf("this GPU exports no memory: %v; fix: %s", err, fault.Fix(err))
	}
	defer m.Close()
	defer unix.Close(m.DMABuf)
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", m.DMABuf))
	if !strings.Contains(string(info), "exp_name:") {
		t.Errorf("no dmabuf: %v\n%s", err, info)
	}
	end, err := unix.Seek(m.DMABuf, 0, unix.SEEK_END)
	t.Logf("%s at %s: %d bytes at %d of a dmabuf of %d (%v)\n%s", m.Name, m.Place, m.Size, m.Offset, end, err, info)
	got := make([]byte, size)
	if _, err := m.ReadAt(got, 0); err != nil || !bytes.Equal(got, make([]byte, size)) {
		t.Errorf("new memory is not all zeros: %v", err)
	}
	want := bytes.Repeat([]byte("0123456789abcdefg"), size/17+1)[:size]
	if _, err := m.WriteAt(want, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read back: %v, equal %v", err, bytes.Equal(got, want))
	}
	if b, err := unix.Mmap(m.DMABuf, 0, int(end), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		t.Logf("the CPU cannot map it: %v", err)
	} else {
		if got := b[m.Offset : m.Offset+m.Size]; !bytes.Equal(got[:size], want) {
			t.Error("what the CPU sees is not what was written")
		}
		unix.Munmap(b)
	}
}
