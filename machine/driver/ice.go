// SPDX-License-Identifier: MIT

package driver

// ice is Intel's driver of the E800 (drivers/net/ethernet/intel/ice). A queue's restart takes the
// carrier down for a moment (ice_qp_dis, ice_qp_ena).
var ice = Driver{
	Name: "ice", NIC: "Intel E800", Labs: []string{"ice"}, HWGRO: "no",

	Splitting: Splitting{Split: "yes"},
	Steering: Steering{
		// ice_add_fdir_ethtool: one set of fields for each kind of flow. A rule that is there
		// already is EINVAL (ice_fdir_is_dup_fltr).
		Rules: "TCP, UDP, SCTP and IP, IPv4 and IPv6, with one set of fields for each", Place: "the user",
		RulesHoldChannels: true, // ice_set_channels: EOPNOTSUPP, the reason only in the kernel's log
	},
	Notes: []string{"splits headers, but its queues take no memory providers"},

	// ice_set_ringparam, ice_set_channels (ice_vsi_recfg_qs), ice_change_mtu and ice_set_features
	// (ice_down_up).
	resets: []string{"channels", "ring", "header-split", "mtu", "feature rx-fcs"},
}
