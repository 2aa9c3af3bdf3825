// SPDX-License-Identifier: MIT

package driver

// fbnic is Meta's driver (drivers/net/ethernet/meta/fbnic).
var fbnic = Driver{
	Name: "fbnic", NIC: "Meta", Labs: []string{"fbnic"},

	// fbnic_set_channels, fbnic_set_ringparam: fbnic_down_noidle, fbnic_up. Not fbnic_change_mtu.
	resets: []string{"channels", "ring", "header-split"},
}
