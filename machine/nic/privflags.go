// SPDX-License-Identifier: MIT

package nic

import (
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// PrivateFlags reads the driver's own switches, by the names that ethtool --show-priv-flags gives
// them (net/ethtool/privflags.c). Most drivers have none, and answer EOPNOTSUPP.
func (d *Device) PrivateFlags() (map[string]bool, error) {
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_PRIVFLAGS_GET, 0, d.header)
	out := map[string]bool{}
	if err == nil {
		err = each(msgs, func(ad *netlink.AttributeDecoder) {
			if ad.Type() == unix.ETHTOOL_A_PRIVFLAGS_FLAGS {
				ad.Nested(func(n *netlink.AttributeDecoder) error {
					return decodeBitset(n, func(name string, set bool) { out[name] = set })
				})
			}
		})
	}
	if err != nil {
		return nil, d.failed(remedy.PrivateFlagsGet, d.op("read the private flags"), err)
	}
	return out, nil
}
