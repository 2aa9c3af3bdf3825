// SPDX-License-Identifier: MIT

package dmabuf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Only nodes of graphics drivers are opened, whatever a file names.
func TestDRMPaths(t *testing.T) {
	for path, ok := range map[string]bool{"/dev/dri/card0": true, "/dev/dri/renderD128": true,
		"/dev/dri/by-path/pci-0000:03:00.0-card": true, "/dev/watchdog": false, "/dev/dri/../watchdog": false,
		"card0": false, "": false, "/dev/dri/": false, "/dev/dri/card0\n": false, "/dev/dri/a b": false} {
		if _, _, err := Find("drm:" + path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/dev/null"} {
		if _, err := newDRM(path, 4096); err == nil || fault.Fix(err) != "ls -l /dev/dri" {
			t.Errorf("%s: %v; fix: %s", path, err, fault.Fix(err))
		}
	}
}

// Where memory lies is read from what drivers write.
func TestOnDevice(t *testing.T) {
	for _, c := range []struct {
		fdinfo string
		bytes  int64
		told   bool
	}{
		{"drm-driver:\tamdgpu\ndrm-memory-vram:\t65536 KiB\ndrm-memory-gtt: \t0 KiB\n", 64 << 20, true},
		{"drm-driver:\tamdgpu\ndrm-memory-vram:\t0 KiB\ndrm-memory-gtt: \t65536 KiB\n", 0, true},
		{"drm-memory-vram:\t65536 KiB\ndrm-resident-vram:\t4 KiB\n", 4 << 10, true},
		{"drm-driver:\txe\ndrm-total-vram0:\t8 MiB\ndrm-resident-vram0:\t8 MiB\ndrm-resident-vram1:\t1 MiB\n", 9 << 20,
			true},
		{"drm-driver:\ti915\ndrm-resident-local0:\t4096\ndrm-resident-system0:\t7 MiB\n", 4096, true},
		{"drm-driver:\tvgem\n", 0, false},
		{"drm-resident-vram0:\tmany\n", 0, false},
	} {
		if n, told := onDevice(c.fdinfo); n != c.bytes || told != c.told {
			t.Errorf("%q: %d, %v", c.fdinfo, n, told)
		}
	}
}

// Memory of which nothing tells that it is still on its device is refused.
func TestStays(t *testing.T) {
	dev, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dev)
	m := &Memory{Size: 4096, Place: "0000:03:00.0", node: &drmNode{fd: dev}}
	if err := m.Stays(); err == nil || !strings.Contains(err.Error(), "nothing tells") || fault.Fix(err) == "" {
		t.Errorf("a driver that tells nothing: %v", err)
	}
	m.node.fd = 1 << 20
	if m.Stays() == nil {
		t.Error("nobody could look, and it stays")
	}
	if err := (&Memory{}).Stays(); err != nil {
		t.Errorf("the host's memory: %v", err)
	}
}
