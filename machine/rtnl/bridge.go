// SPDX-License-Identifier: MIT

package rtnl

import (
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// AddBridge makes an Ethernet bridge; unix.IFLA_MASTER of another interface puts that on it.
func (c *Conn) AddBridge(name string) error {
	_, err := c.ask(unix.RTM_NEWLINK, netlink.Acknowledge|netlink.Create|netlink.Excl, ifinfo(0, 0, 0),
		func(ae *netlink.AttributeEncoder) {
			ae.String(unix.IFLA_IFNAME, name)
			ae.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error {
				info.String(unix.IFLA_INFO_KIND, "bridge")
				return nil
			})
		})
	return err
}
