// SPDX-License-Identifier: MIT

package driver

// ionic is AMD Pensando's driver (drivers/net/ethernet/pensando/ionic).
var ionic = Driver{
	Name: "ionic", NIC: "AMD Pensando", HWGRO: "no", Channels: "combined, or rx, tx", // ionic_set_channels
	// ionic_set_coalesce
	Interrupts: Interrupts{Untold: true, TXFollows: true},
	// ionic_ethtool_ops has no set_rxnfc
	Steering: Steering{Rules: "none"},
	// ionic_set_coalesce
	Notes: []string{"interrupt moderation of sending alone is refused (EINVAL): the reason is in the kernel's log"},

	// ionic_reconfigure_queues: ionic_set_ringparam, ionic_set_channels; ionic_change_mtu
	// (ionic_stop_queues_reconfig).
	resets: []string{"channels", "ring", "mtu"},
}
