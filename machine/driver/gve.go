// SPDX-License-Identifier: MIT

package driver

// gve is Google's driver of its virtual NIC (drivers/net/ethernet/google/gve).
var gve = Driver{
	Name: "gve", NIC: "Google virtual NIC", Labs: []string{"gve", "gve-old"},

	// gve_adjust_config, gve_adjust_queues: gve_set_ringparam, gve_set_channels, gve_set_features.
	resets: []string{"channels", "ring", "rx-buf-len", "header-split", "feature rx-gro-hw", "feature rx-lro"},
}
