// SPDX-License-Identifier: MIT

package driver

import "slices"

// All are the drivers of which something is known.
var All = slices.Concat([]*Driver{&mlx5, &bnxt, &fbnic, &gve, &virtio, &idpf, &ice, &ionic, &netkit, &softNIC, &veth},
	others)
