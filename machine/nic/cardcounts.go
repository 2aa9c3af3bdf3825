// SPDX-License-Identifier: MIT

package nic

import (
	"path/filepath"

	"github.com/zcbench/zcbench/internal/cardcounts"
)

// CardCounts reads what a NIC that the lab itself is counted; nil for all other NICs.
func (d *Device) CardCounts() (map[string]uint64, error) {
	root, err := d.sysRoot()
	if err != nil {
		return nil, err
	}
	return cardcounts.Read(filepath.Join(root, "class/net", d.Name, "device/config"))
}
