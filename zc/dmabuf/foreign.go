// SPDX-License-Identifier: MIT

package dmabuf

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Exporter returns the name of the driver that a descriptor's dmabuf is of; is is false for any
// other descriptor (dma_buf_show_fdinfo of drivers/dma-buf/dma-buf.c).
func Exporter(fd int) (name string, is bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "exp_name:"); ok {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// adopt checks a descriptor that another program made: that it is a dmabuf, of the size that was
// said.
func (m *Memory) adopt(what string) error {
	if _, is := Exporter(m.FD); !is {
		to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", m.FD))
		if err != nil {
			to = "unknown"
		}
		return notDMABuf(what, fmt.Sprintf("%.80q", to))
	}
	n, err := unix.Seek(m.FD, 0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("%s: lseek of the dmabuf: %w", what, err)
	}
	page := int64(os.Getpagesize())
	if m.Offset > n || m.Size > n-m.Offset || m.Offset%page != 0 || m.Size%page != 0 {
		return &fault.Error{Op: fmt.Sprintf("%s: %d bytes at %d, in a dmabuf of %d", what, m.Size, m.Offset, n),
			How: "hand over a dmabuf that has all of the memory, in whole pages"}
	}
	return nil
}

// Refused says why the kernel does not give NIC d the memory, where its words are about that: ack
// is what netlink says beside the errno, "" where nothing is said (net_devmem_bind_dmabuf of
// net/core/devmem.c). Of a GPU's memory it adds what is between the two.
func (m *Memory) Refused(d *nic.Device, ack string) (why, fix string) {
	if why, fix = m.refused(ack); why == "" {
		return "", ""
	}
	for _, doubt := range m.between(busOf(d)) {
		why, fix = why+"; "+fault.Reason(doubt), fault.Fix(doubt)+"; "+fix
	}
	return why, fix
}

// between says what is between a NIC, by its PCI address, and the GPU that has the memory.
func (m *Memory) between(bus string) []error {
	g, is := sysfs.Get(m.Place)
	if !is || bus == "" {
		return nil
	}
	path, err := sysfs.Between(bus, g.PCI)
	if err != nil {
		return nil
	}
	return sysfs.Doubts(path, g, m.Size)
}

func (m *Memory) refused(ack string) (why, fix string) {
	const look = "look what the kernel said (journalctl -k)"
	exporter, _ := Exporter(m.FD)
	what := "the memory's exporter (" + exporter + ")"
	if m.Place != "" {
		what += " at " + m.Place
	}
	switch {
	case strings.Contains(ack, "Failed to bind dmabuf"):
		return what + " does not let this NIC attach", look + "; memory of a device's own is often for devices " +
			"alone that say they reach it, which the kernel does not for a NIC (docs/memory.md): use --area " +
			"heap, or udmabuf"
	case strings.Contains(ack, "Failed to map dmabuf"):
		return what + " has no address of the memory for this NIC", look + "; of a device's memory, both want to be " +
			"below one PCIe switch or root port (lspci -tv), without an IOMMU or ACS between them " +
			"(docs/memory.md); or " +
			"use --area heap, or udmabuf"
	}
	return "", ""
}
