// SPDX-License-Identifier: MIT

package driver

// others are those of which little more than a line is known.
var others = []*Driver{
	{Name: "bnge", NIC: "Broadcom Thor Ultra", HWGRO: "?", resets: unknownResets},
	{Name: "ena", NIC: "Amazon", HWGRO: "?", resets: unknownResets},
	{Name: "i40e", NIC: "Intel 700", HWGRO: "?", Interrupts: Interrupts{Untold: true}, resets: unknownResets},
	{Name: "ixgbe", NIC: "Intel 82599, X500", HWGRO: "?", Interrupts: Interrupts{Untold: true}, resets: unknownResets},
	// e1000_set_ringparam, e1000_change_mtu
	{Name: "e1000e", NIC: "Intel 1G", Channels: "fixed", resets: []string{"ring", "mtu"}},
	{Name: "mana", NIC: "Microsoft Azure", HWGRO: "?", Interrupts: Interrupts{Untold: true}, resets: unknownResets},
	{Name: "sfc", NIC: "AMD Solarflare", HWGRO: "?", Interrupts: Interrupts{Untold: true}, resets: unknownResets},
	{Name: "enic", NIC: "Cisco VIC", HWGRO: "?", Interrupts: Interrupts{Untold: true}, resets: unknownResets},
	{Name: "hns3", NIC: "HiSilicon", HWGRO: "yes", Interrupts: Interrupts{Untold: true}, resets: unknownResets},
	{Name: "netdevsim", NIC: "the kernel's test device", Splitting: Splitting{Split: "yes", Threshold: "yes"},
		Interrupts: Interrupts{Virtual: true},
		Notes:      []string{"its page pools take no memory providers"}},
}
