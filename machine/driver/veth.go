// SPDX-License-Identifier: MIT

package driver

// veth is the end of a pair in network namespaces (drivers/net/veth.c).
var veth = Driver{
	Name: "veth", NIC: "a pair of namespaces", Channels: "rx, tx",
	Interrupts: Interrupts{Virtual: true},
	CountsNow:  true,                     // veth_get_stats64
	CopiesSent: true, CountsUnsent: true, // veth_xmit
	Notes: []string{"has no hardware; it copies payload that was sent with zero copy when it delivers it"},

	resets: []string{"channels"}, // veth_set_channels
}
