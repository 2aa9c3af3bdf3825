// SPDX-License-Identifier: MIT

package driver

// fbnic is Meta's driver (drivers/net/ethernet/meta/fbnic). Queue i is served by NAPI i modulo
// their number, so several queues can share one (fbnic_alloc_napi_vectors).
var fbnic = Driver{
	Name: "fbnic", NIC: "Meta", Labs: []string{"fbnic"},

	Memory:    Memory{Receives: "6.18", Sends: "6.18", LongestBuffer: PageBytes},
	Splitting: Splitting{Split: "always", Threshold: "yes", AutoIsOn: true},
	// fbnic_set_cls_rule_ins; FBNIC_RPC_RSS_TBL_COUNT of fbnic_csr.h, with the table
	Steering: Steering{Rules: "TCP and UDP, IPv4 and IPv6", Place: "the driver, from the table's end", Contexts: "1"},
	Notes: []string{"header split is always on; hds-thresh must be 0 (default: 1536)", "no hardware GRO",
		"payload goes to the rx-jumbo ring"},
	Impossible: []string{"zero copy with hardware GRO (--hw-gro on)"},

	// fbnic_set_channels, fbnic_set_ringparam: fbnic_down_noidle, fbnic_up. Not fbnic_change_mtu.
	resets: []string{"channels", "ring", "header-split"},
}
