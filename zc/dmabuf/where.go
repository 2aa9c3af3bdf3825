// SPDX-License-Identifier: MIT

package dmabuf

import "github.com/zcbench/zcbench/machine/nic"

// Where says which device has the memory, how far that is from NIC d, and what people call it,
// beginning with its PCI address; "" of the host's memory.
func (m *Memory) Where(d *nic.Device) string {
	if m.Place == "" {
		return ""
	}
	return m.where(busOf(d))
}

func (m *Memory) where(bus string) string {
	out := m.Place
	if bus != "" {
		if path, err := sysfs.Between(bus, m.Place); err == nil {
			out += " " + path.String()
		}
	}
	if m.Name != "" {
		out += ": " + m.Name
	}
	return out
}
