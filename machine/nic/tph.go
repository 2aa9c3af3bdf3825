// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/zcbench/zcbench/internal/tape"
)

// TPH reports whether the driver has switched on the processing hints of its PCI function
// (Documentation/PCI/tph.rst): a register that root can read.
func (d *Device) TPH() bool {
	on, _ := tape.Ask("pci: processing hints", func() (bool, error) {
		root, err := d.sysRoot()
		if err != nil {
			return false, err
		}
		b, err := os.ReadFile(filepath.Join(root, "class/net", d.Name, "device/config"))
		return tphOn(b), errnoOf(err)
	})
	return on
}

// Of the extended capabilities of PCI (include/uapi/linux/pci_regs.h).
const (
	pciExtFirst  = 0x100 // where the list begins
	pciExtTPH    = 0x17  // PCI_EXT_CAP_ID_TPH
	pciTPHCtrl   = 8     // PCI_TPH_CTRL
	pciTPHEnable = 0x300 // PCI_TPH_CTRL_REQ_EN_MASK
)

// tphOn looks in a function's configuration space, which is 4096 bytes long where there are
// extended capabilities and who reads may see them.
func tphOn(config []byte) bool {
	at := pciExtFirst
	for range len(config) / 8 { // a list that runs in a circle ends too
		if at < pciExtFirst || at+pciTPHCtrl+4 > len(config) {
			return false
		}
		head := binary.LittleEndian.Uint32(config[at:])
		if head&0xffff == pciExtTPH {
			return binary.LittleEndian.Uint32(config[at+pciTPHCtrl:])&pciTPHEnable != 0
		}
		at = int(head >> 20 &^ 3)
	}
	return false
}
