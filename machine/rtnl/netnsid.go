// SPDX-License-Identifier: MIT

package rtnl

import (
	"fmt"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
)

// Of include/uapi/linux/net_namespace.h and rtnetlink.h.
const (
	getNSID   = 90 // RTM_GETNSID
	netnsNSID = 1  // NETNSA_NSID
	netnsFD   = 3  // NETNSA_FD
)

// NetnsID asks for the number by which this socket's network namespace knows another one, whose
// descriptor is given; below 0: it knows none, as where no interface of it leads there.
func (c *Conn) NetnsID(fd int) (id int, err error) {
	header := make([]byte, 4) // struct rtgenmsg, padded
	msgs, err := c.ask(getNSID, 0, header, func(ae *netlink.AttributeEncoder) { ae.Uint32(netnsFD, uint32(fd)) })
	if err != nil {
		return -1, remedy.Error(remedy.NetnsIDGet, "ask for the number of a network namespace", err, remedy.On{})
	}
	id = -1
	for _, m := range msgs {
		if len(m.Data) < len(header) {
			return -1, fmt.Errorf("the kernel's message of a network namespace has %d bytes", len(m.Data))
		}
		ad, err := netlink.NewAttributeDecoder(m.Data[len(header):])
		if err != nil {
			return -1, err
		}
		for ad.Next() {
			if ad.Type() == netnsNSID {
				id = int(int32(ad.Uint32()))
			}
		}
		if err := ad.Err(); err != nil {
			return -1, err
		}
	}
	return id, nil
}
