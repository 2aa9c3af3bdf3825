// SPDX-License-Identifier: MIT

package driver

// netkit is a container's end of a NIC's queue (drivers/net/netkit.c): it has no queues to
// restart.
var netkit = Driver{
	Name: "netkit", NIC: "a container's end of a NIC's queue", Channels: "none",
	Memory:     Memory{Receives: "7.1", Sends: "7.2", ReceivesIf: "a queue leased from a physical NIC", Lent: true},
	Interrupts: Interrupts{Virtual: true},
	CountsNow:  true, // netkit_get_stats
	Notes:      []string{"through a queue leased from a physical NIC"},
}
