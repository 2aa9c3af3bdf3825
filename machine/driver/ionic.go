// SPDX-License-Identifier: MIT

package driver

// ionic is AMD Pensando's driver (drivers/net/ethernet/pensando/ionic).
var ionic = Driver{
	Name: "ionic", NIC: "AMD Pensando",

	// ionic_reconfigure_queues: ionic_set_ringparam, ionic_set_channels; ionic_change_mtu
	// (ionic_stop_queues_reconfig).
	resets: []string{"channels", "ring", "mtu"},
}
