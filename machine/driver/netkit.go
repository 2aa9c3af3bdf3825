// SPDX-License-Identifier: MIT

package driver

// netkit is a container's end of a NIC's queue (drivers/net/netkit.c): it has no queues to restart.
var netkit = Driver{Name: "netkit", NIC: "a container's end of a NIC's queue"}
