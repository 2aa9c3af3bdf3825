// SPDX-License-Identifier: MIT

package driver

// ice is Intel's driver of the E800 (drivers/net/ethernet/intel/ice).
var ice = Driver{
	Name: "ice", NIC: "Intel E800", Labs: []string{"ice"},

	// ice_set_ringparam, ice_set_channels (ice_vsi_recfg_qs), ice_change_mtu and ice_set_features
	// (ice_down_up).
	resets: []string{"channels", "ring", "header-split", "mtu", "feature rx-fcs"},
}
