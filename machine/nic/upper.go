// SPDX-License-Identifier: MIT

package nic

import "slices"

// ofUpper are the settings that belong to the interface with address and route, where that
// stands on another one. A socket cuts its packets as its route's interface says
// (net/core/sock.c: sk_dst_gso_max_size), and the port below cuts them again where it may
// not be given as much (net/core/dev.c: gso_features_check). All else is of queues, or is
// done where a packet comes in, which is the port: GRO and its sizes too (net/core/gro.c:
// skb_gro_receive; Linux 7.3.4).
var ofUpper = []string{"mtu", "gso-max-size", "gso-ipv4-max-size"}

// OfUpper reports whether a setting belongs, also, to an interface that stands on the port.
func OfUpper(setting string) bool { return slices.Contains(ofUpper, setting) }
