// SPDX-License-Identifier: MIT

package driver

// virtio is the driver of QEMU's and most clouds' NIC (drivers/net/virtio_net.c).
var virtio = Driver{
	Name: "virtio_net", NIC: "QEMU, most clouds", Labs: []string{"virtio-like"}, HWGRO: "if the host has it",
	Interrupts: Interrupts{Untold: true},
	CountsNow:  true, // virtnet_stats adds up its queues

	resets: []string{"ring"}, // virtnet_set_ringparam, one queue after the other
}
