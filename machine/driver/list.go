// SPDX-License-Identifier: MIT

package driver

import "slices"

// all are the drivers of which something is known.
var all = slices.Concat([]*Driver{&mlx5, &bnxt, &fbnic, &gve, &virtio, &idpf, &ice, &ionic, &netkit, &softNIC, &veth},
	others)
