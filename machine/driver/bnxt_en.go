// SPDX-License-Identifier: MIT

package driver

// bnxt is Broadcom's driver (drivers/net/ethernet/broadcom/bnxt).
var bnxt = Driver{
	Name: "bnxt_en", NIC: "Broadcom NetXtreme-C/E", Labs: []string{"bnxt", "bnxt-old"},

	// bnxt_set_channels, bnxt_set_ringparam, bnxt_change_mtu, bnxt_set_features (bnxt_reinit_features),
	// bnxt_set_rxfh: each closes and opens the NIC.
	resets: []string{"channels", "ring", "header-split", "mtu", "feature rx-gro-hw", "feature rx-lro", "feature rx-ntuple-filter",
		"feature rx-vlan-hw-parse", "feature rx-vlan-stag-hw-parse", "rss"},
}
