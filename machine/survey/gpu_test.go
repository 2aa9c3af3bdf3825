// SPDX-License-Identifier: MIT

package survey

import (
	"os"
	"path/filepath"
	"testing"
)

// A snapshot has the GPUs, and how far each is from the port.
func TestGPUs(t *testing.T) {
	const nic, near, far = "0000:42:00.0", "0000:44:00.0", "0000:c1:00.0"
	files := map[string]string{}
	at := map[string]string{nic: "pci0000:40/0000:40:01.0/0000:41:00.0/", near: "pci0000:40/0000:40:01.0/0000:41:00.0/",
		far: "pci0000:c0/0000:c0:01.0/"}
	for pci, way := range at {
		dir := "sys/devices/" + way + pci
		files[dir+"/class"], files[dir+"/vendor"], files[dir+"/device"] = "0x030200\n", "0x10de\n", "0x1fb0\n"
		files[dir+"/numa_node"] = map[string]string{nic: "0\n", near: "0\n", far: "1\n"}[pci]
	}
	files["sys/devices/"+at[nic]+nic+"/class"] = "0x020000\n"
	fs := fixture(t, files)
	for pci, way := range at {
		link := fs.sys("bus/pci/devices", pci)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(fs.sys("devices", way+pci), link); err != nil {
			t.Fatal(err)
		}
	}
	for port, want := range map[string]map[string]string{
		nic: {near: "NVIDIA 0000:44:00.0 (10de:1fb0, no driver), behind one PCIe switch",
			far: "NVIDIA 0000:c1:00.0 (10de:1fb0, no driver), on two NUMA nodes"},
		"platform:soft": {near: "NVIDIA 0000:44:00.0 (10de:1fb0, no driver)",
			far: "NVIDIA 0000:c1:00.0 (10de:1fb0, no driver)"}} {
		f := &facts{fs: fs}
		f.gpus(port)
		s := New(f.all)
		for pci, value := range want {
			if got, _ := s.Value("gpu/" + pci); got != value {
				t.Errorf("from %s: gpu/%s is %q, want %q", port, pci, got, value)
			}
		}
	}
}
