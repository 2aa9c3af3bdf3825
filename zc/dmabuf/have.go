// SPDX-License-Identifier: MIT

package dmabuf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// haveHeaps lists the kernel's heaps, and tries a page of the one that is taken by default.
func haveHeaps() (string, error) {
	names := entries(heapDir)
	if len(names) == 0 {
		return "", remedy.Error(remedy.HeapOpen, heapDir, unix.ENOENT, remedy.On{Path: heapDir})
	}
	if slices.Contains(names, systemHeap) {
		m, err := newHeap(systemHeap, os.Getpagesize())
		if err != nil {
			return "", err
		}
		if err := m.Close(); err != nil {
			return "", err
		}
	}
	return strings.Join(names, ", "), nil
}

// untried are drivers whose calls for memory of a device's own nobody has tried with this program
// on hardware.
var untried = []string{"amdgpu", "i915", "xe"}

// haveDRM lists nodes of graphics drivers. It opens none: that may wake a device.
func haveDRM() (string, error) {
	var words []string
	for _, name := range entries(drmDir) {
		if !strings.HasPrefix(name, "card") {
			continue
		}
		driver := driverOf(filepath.Join("/sys/class/drm", name, "device"))
		word := fmt.Sprintf("%s (%s)", name, driver)
		if slices.Contains(untried, driver) {
			word = fmt.Sprintf("%s (%s, not tried by us on hardware)", name, driver)
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return "", remedy.Error(remedy.DRMOpen, drmDir, unix.ENOENT, remedy.On{Path: drmDir})
	}
	return strings.Join(words, ", "), nil
}

// driverOf names the driver of a device in sysfs; of one that is no hardware, the device.
func driverOf(device string) string {
	if to, err := os.Readlink(device + "/driver"); err == nil && !strings.HasPrefix(filepath.Base(to), "faux") {
		return filepath.Base(to)
	}
	if to, err := os.Readlink(device); err == nil {
		return filepath.Base(to)
	}
	return "unknown"
}

func entries(dir string) (names []string) {
	all, _ := os.ReadDir(dir) // of one that is not there: none
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// Found is what a host has of a provider, for the doctor.
type Found struct {
	Name string `json:"name"` // of the provider
	Has  string `json:"has"`
	Why  string `json:"why,omitempty"` // it has none
	Fix  string `json:"fix,omitempty"`
}

// Look asks each provider that may be missing what this host has of it.
func Look() (out []Found) {
	for _, p := range All {
		if p.Have == nil {
			continue
		}
		f := Found{Name: p.Name}
		var err error
		if f.Has, err = p.Have(); err != nil {
			f.Why, f.Fix = fault.Reason(err), fault.Fix(err)
		}
		out = append(out, f)
	}
	return out
}
