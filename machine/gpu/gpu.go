// SPDX-License-Identifier: MIT

// Package gpu knows the GPUs of a host, and how far each is from a NIC: what their PCIe devices
// tell in /sys, before any library of a vendor is asked.
package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
)

// Vendor is who makes a GPU, by its PCI number.
type Vendor string

// Whose GPUs zcbench has memory of.
const (
	NVIDIA Vendor = "10de"
	AMD    Vendor = "1002"
)

// Name is what people call the vendor.
func (v Vendor) Name() string {
	switch v {
	case NVIDIA:
		return "NVIDIA"
	case AMD:
		return "AMD"
	}
	return "PCI vendor " + string(v)
}

// Driver is the vendor's driver, without which its library has no GPU.
func (v Vendor) Driver() string {
	switch v {
	case NVIDIA:
		return "nvidia"
	case AMD:
		return "amdgpu"
	}
	return ""
}

// GPU is a PCIe device.
type GPU struct {
	PCI    string // its address: 0000:41:00.0
	Vendor Vendor
	Device string // its number there, four hexadecimal digits
	Driver string // "" where none is bound to it
	Window int64  // bytes of its largest memory window, through which others reach its memory
}

func (g GPU) String() string {
	driver := g.Driver
	if driver == "" {
		driver = "no driver"
	}
	return fmt.Sprintf("%s %s (%s:%s, %s)", g.Vendor.Name(), g.PCI, g.Vendor, g.Device, driver)
}

// FS is where sysfs is: "/sys".
type FS string

// Host is this host's.
const Host FS = "/sys"

func (f FS) device(pci string, elem ...string) string {
	return filepath.Join(append([]string{string(f), "bus/pci/devices", pci}, elem...)...)
}

// text reads a file of a device; "" where it cannot.
func (f FS) text(pci, name string) string {
	b, _ := kernelfile.ReadFile(f.device(pci, name))
	return strings.TrimSpace(string(b))
}

// List returns the GPUs of a vendor, by their address.
func (f FS) List(v Vendor) (all []GPU) {
	entries, _ := os.ReadDir(filepath.Join(string(f), "bus/pci/devices"))
	for _, e := range entries {
		if g, ok := f.look(e.Name()); ok && g.Vendor == v {
			all = append(all, g)
		}
	}
	return all
}

// Get returns the GPU at an address, of any vendor; ok is false of anything else.
func (f FS) Get(pci string) (GPU, bool) { return f.look(strings.ToLower(pci)) }

// look reads a device, which is a GPU if it is a display controller or a processing accelerator.
func (f FS) look(pci string) (GPU, bool) {
	class := strings.TrimPrefix(f.text(pci, "class"), "0x")
	if !strings.HasPrefix(class, "03") && !strings.HasPrefix(class, "12") {
		return GPU{}, false
	}
	g := GPU{PCI: pci, Vendor: Vendor(strings.TrimPrefix(f.text(pci, "vendor"), "0x")),
		Device: strings.TrimPrefix(f.text(pci, "device"), "0x"), Window: f.window(pci)}
	if to, err := os.Readlink(f.device(pci, "driver")); err == nil {
		g.Driver = filepath.Base(to)
	}
	return g, true
}

// window returns the size of the largest memory window: a line of resource has begin, end and flags
// (drivers/pci/pci-sysfs.c), and the first six are those of the device itself.
func (f FS) window(pci string) (most int64) {
	const memory = 0x200 // IORESOURCE_MEM
	for i, line := range strings.Split(f.text(pci, "resource"), "\n") {
		var begin, end, flags int64
		if _, err := fmt.Sscanf(line, "0x%x 0x%x 0x%x", &begin, &end, &flags); err != nil || i >= 6 {
			break
		}
		if flags&memory != 0 && end > begin {
			most = max(most, end-begin+1)
		}
	}
	return most
}

// CheckPCI refuses what is no PCI address.
func CheckPCI(s string) error {
	var domain, bus, dev, fn uint32
	n, err := fmt.Sscanf(s, "%x:%x:%x.%x", &domain, &bus, &dev, &fn)
	if err != nil || n != 4 || domain > 0xffffff || bus > 0xff || dev > 0x1f || fn > 7 ||
		!strings.EqualFold(s, fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, dev, fn)) {
		return fmt.Errorf("%.40q is no PCI address such as 0000:41:00.0", s)
	}
	return nil
}

// Nearest returns the GPU of a vendor that is nearest to a NIC, by the PCI address of that; where
// that is "", the only GPU.
func (f FS) Nearest(v Vendor, nic string) (GPU, error) {
	all := f.List(v)
	switch {
	case len(all) == 0:
		return GPU{}, &fault.Error{Op: "this host has no " + v.Name() + " GPU on its PCI bus",
			How: "look at lspci -d " + string(v) + ": ; a virtual machine or container sees only what it was given"}
	case len(all) == 1:
		return all[0], nil
	case nic == "":
		return GPU{}, &fault.Error{Op: fmt.Sprintf("this host has %d %s GPUs", len(all), v.Name()),
			How: "name one by its PCI address: " + addresses(all)}
	}
	paths := map[string]Path{}
	for _, g := range all {
		p, err := f.Between(nic, g.PCI)
		if err != nil {
			return GPU{}, err
		}
		paths[g.PCI] = p
	}
	return slices.MinFunc(all, func(a, b GPU) int {
		return cmp.Or(cmp.Compare(paths[a.PCI].Distance, paths[b.PCI].Distance),
			cmp.Compare(len(paths[a.PCI].Bridges), len(paths[b.PCI].Bridges)), cmp.Compare(a.PCI, b.PCI))
	}), nil
}

func addresses(all []GPU) string {
	var out []string
	for _, g := range all {
		out = append(out, g.PCI)
	}
	return strings.Join(out, ", ")
}

// node returns a device's NUMA node, -1 where it has none.
func (f FS) node(pci string) int {
	n, err := strconv.Atoi(f.text(pci, "numa_node"))
	if err != nil {
		return -1
	}
	return n
}

// up lists the devices on the way from the host bridge to a device, which is the last. The host
// bridge is the first.
func (f FS) up(pci string) ([]string, error) {
	real, err := filepath.EvalSymlinks(f.device(pci))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: "no PCI device " + pci + " on this host", How: "look at lspci -D"}
	}
	if err != nil {
		return nil, err
	}
	var way []string
	for _, part := range strings.Split(real, "/") {
		if strings.HasPrefix(part, "pci") && strings.Contains(part, ":") || CheckPCI(part) == nil {
			way = append(way, part)
		}
	}
	if len(way) == 0 {
		return nil, fmt.Errorf("%s is not on a PCI bus", real)
	}
	return way, nil
}
