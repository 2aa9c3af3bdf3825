// SPDX-License-Identifier: MIT

package gpu

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

// host is a sysfs that a test makes.
type host struct {
	t *testing.T
	FS
}

// put adds a PCI device at a way through bridges, which it adds too, with files of its folder.
func (h host) put(way string, files map[string]string) {
	h.t.Helper()
	parts := strings.Split(way, "/")
	for i := 1; i < len(parts); i++ {
		dir := filepath.Join(string(h.FS), "devices", filepath.Join(parts[:i+1]...))
		link := filepath.Join(string(h.FS), "bus/pci/devices", parts[i])
		for _, d := range []string{dir, filepath.Dir(link)} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				h.t.Fatal(err)
			}
		}
		os.Symlink(dir, link)
		if i == len(parts)-1 {
			for name, text := range files {
				h.write(filepath.Join(dir, name), text)
			}
		}
	}
}

func (h host) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// drive binds a driver to a device.
func (h host) drive(pci, driver string) {
	if err := os.Symlink("../../bus/pci/drivers/"+driver, h.device(pci, "driver")); err != nil {
		h.t.Fatal(err)
	}
}

func card(vendor, node string) map[string]string {
	return map[string]string{"class": "0x030200\n", "vendor": "0x" + vendor + "\n", "device": "0x1fb0\n",
		"numa_node": node + "\n", "resource": "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n" +
			"0x0000380000000000 0x000038000fffffff 0x000000000014220c\n" +
			"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"}
}

const nic = "0000:42:00.0"

// server has a NIC, and GPUs near and far.
func server(t *testing.T) host {
	h := host{t, FS(t.TempDir())}
	h.put("pci0000:40/0000:40:01.0/0000:41:00.0/0000:42:10.0/"+nic, map[string]string{"class": "0x020000\n",
		"vendor": "0x15b3\n", "numa_node": "0\n", "iommu_group/type": "DMA-FQ\n"})
	for pci, way := range map[string]string{
		"0000:44:00.0": "pci0000:40/0000:40:01.0/0000:41:00.0/0000:42:11.0/", // one switch
		"0000:42:00.1": "pci0000:40/0000:40:01.0/",                           // one root port
		"0000:50:00.0": "pci0000:40/0000:40:02.0/",                           // one host bridge
		"0000:61:00.0": "pci0000:60/0000:60:01.0/",                           // one node
	} {
		h.put(way+pci, card("10de", "0"))
	}
	h.put("pci0000:c0/0000:c0:01.0/0000:c1:00.0", card("10de", "1"))
	h.put("pci0000:c0/0000:c0:02.0/0000:c2:00.0", card("1002", "1"))
	h.drive("0000:44:00.0", "nvidia")
	return h
}

func TestDistance(t *testing.T) {
	h := server(t)
	for pci, want := range map[string]string{
		"0000:44:00.0": "behind one PCIe switch (0000:41:00.0)", "0000:42:00.1": "below one root port (0000:40:01.0)",
		"0000:50:00.0": "below one host bridge (pci0000:40)", "0000:61:00.0": "below two host bridges of one NUMA node",
		"0000:C1:00.0": "on two NUMA nodes"} {
		if p, err := h.Between(nic, pci); err != nil || p.String() != want {
			t.Errorf("%s: %v, %v", pci, p, err)
		}
	}
	p, err := h.Between(nic, "0000:44:00.0")
	if want := []string{"0000:41:00.0", "0000:42:10.0", "0000:42:11.0"}; err != nil || !slices.Equal(p.Bridges, want) ||
		p.IOMMU != "DMA-FQ" || p.Redirect != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := h.Between(nic, "0000:99:00.0"); err == nil || !strings.Contains(fault.Fix(err), "lspci") {
		t.Errorf("one that is not there: %v", err)
	}
}

func TestNearest(t *testing.T) {
	h := server(t)
	near := func(v Vendor, want string) {
		t.Helper()
		if g, err := h.Nearest(v, nic); err != nil || g.PCI != want {
			t.Errorf("%v, %v", g, err)
		}
	}
	near(NVIDIA, "0000:44:00.0")
	near(AMD, "0000:c2:00.0") // the only one
	os.Remove(h.device("0000:44:00.0"))
	near(NVIDIA, "0000:42:00.1")
	os.Remove(h.device("0000:42:00.1"))
	near(NVIDIA, "0000:50:00.0")
	os.Remove(h.device("0000:50:00.0"))
	near(NVIDIA, "0000:61:00.0")
	if _, err := h.Nearest(NVIDIA, ""); err == nil || !strings.Contains(fault.Fix(err), "0000:61:00.0, 0000:c1:00.0") {
		t.Errorf("of several, for no NIC: %v; fix: %s", err, fault.Fix(err))
	}
	if _, err := FS(t.TempDir()).Nearest(AMD, nic); err == nil || !strings.Contains(fault.Fix(err), "lspci -d 1002:") {
		t.Errorf("of none: %v", err)
	}
}

func TestGPU(t *testing.T) {
	h := server(t)
	g, ok := h.Get("0000:44:00.0")
	if !ok || g != (GPU{"0000:44:00.0", NVIDIA, "1fb0", "nvidia", 256 << 20}) ||
		g.String() != "NVIDIA 0000:44:00.0 (10de:1fb0, nvidia)" {
		t.Errorf("%+v", g)
	}
	if g, ok := h.Get(nic); ok {
		t.Errorf("the NIC is a GPU: %v", g)
	}
	if all := h.List(NVIDIA); len(all) != 5 {
		t.Errorf("%v", all)
	}
	for s, good := range map[string]bool{"0000:41:00.0": true, "10000:e1:1f.7": true, "0000:C1:00.0": true,
		"41:00.0":    false,
		"0000:41:00": false, "0000:41:20.0": false, "0000:41:00.8": false, "0000:41:00.0 ": false, "../41:00.0": false,
		"0000:41:00.0/..": false, "": false} {
		if err := CheckPCI(s); (err == nil) != good {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// acs is the configuration space of a port with Access Control Services, behind another capability.
func acs(control uint16) string {
	b := make([]byte, 4096)
	binary.LittleEndian.PutUint32(b[0x100:], 0x0001|1<<16|0x148<<20)
	binary.LittleEndian.PutUint32(b[0x148:], 0x000d|1<<16)
	binary.LittleEndian.PutUint16(b[0x14e:], control)
	return string(b)
}

// Each thing that may stand between NIC and GPU is told with what to do.
func TestDoubts(t *testing.T) {
	h := server(t)
	said := func(pci string, size int64) (all []string) {
		t.Helper()
		p, err := h.Between(nic, pci)
		g, ok := h.Get(pci)
		if err != nil || !ok {
			t.Fatal(err)
		}
		for _, d := range h.Doubts(p, g, size) {
			if fault.Fix(d) == "" {
				t.Errorf("%v has no fix", d)
			}
			all = append(all, d.Error())
		}
		return all
	}
	has := func(all []string, n int, words ...string) {
		t.Helper()
		if len(all) != n {
			t.Errorf("%d doubts: %q", len(all), all)
		}
		for _, w := range words {
			if !strings.Contains(fmt.Sprint(all), w) {
				t.Errorf("no %q: %q", w, all)
			}
		}
	}
	has(said("0000:44:00.0", 1<<20), 1, "IOMMU translates the NIC's addresses (DMA-FQ)")
	h.write(h.device(nic, "iommu_group/type"), "identity\n")
	has(said("0000:44:00.0", 256<<20), 0)
	has(said("0000:44:00.0", 256<<20+1), 1, "BAR")
	has(said("0000:61:00.0", 1), 2, "the driver of the GPU is not nvidia", "two host bridges")
	has(said("0000:c1:00.0", 1), 2, "two NUMA nodes")
	has(said("0000:c2:00.0", 1), 2, "is not amdgpu: AMD 0000:c2:00.0 (1002:1fb0, no driver)")
	h.write(h.device("0000:42:11.0", "config"), acs(0x1d))
	has(said("0000:44:00.0", 1), 1, "ACS redirect at 0000:42:11.0")
	h.write(h.device("0000:42:11.0", "config"), acs(0x01))
	has(said("0000:44:00.0", 1), 0)
	for _, cut := range []int{0, 64, 0x104, 0x14a} {
		h.write(h.device("0000:42:11.0", "config"), acs(0x1d)[:cut])
		has(said("0000:44:00.0", 1), 0)
	}
}
