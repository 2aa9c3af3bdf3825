// SPDX-License-Identifier: MIT

package driver

// all are the drivers of which something is known.
var all = []*Driver{&bnxt, &fbnic, &gve, &mlx5, &netkit, &softNIC, &ice, &idpf, &ionic, &virtio, &veth}
