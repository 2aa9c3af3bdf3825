// SPDX-License-Identifier: MIT

package nic

import (
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
)

// XDPFeatures is what a driver says that it can do with XDP (enum netdev_xdp_act of
// include/uapi/linux/netdev.h). What a veth can depends on its peer.
type XDPFeatures uint64

// Bits of XDPFeatures.
const (
	XDPBasic        XDPFeatures = 1 << iota // native programs
	XDPRedirects                            // that redirect
	XDPTransmits                            // takes frames that are redirected to it
	XDPZeroCopy                             // AF_XDP sockets without a copy
	XDPOffload                              // programs that run on the NIC
	XDPFragments                            // frames of several buffers
	XDPTransmitsAll                         // such frames that are redirected to it
)

// XDPFeatures asks the driver (netdev dev-get, 6.3).
func (d *Device) XDPFeatures() (f XDPFeatures, err error) {
	msgs, err := d.ask(d.netdev, cmdDevGet, 0,
		func(ae *netlink.AttributeEncoder) { ae.Uint32(attrDevIfindex, uint32(d.Index)) })
	if err == nil {
		err = each(msgs, func(ad *netlink.AttributeDecoder) {
			if ad.Type() == attrDevXDPFeatures {
				f = XDPFeatures(ad.Uint64())
			}
		})
	}
	if err != nil {
		return 0, d.failed(remedy.DevGet, d.op("read the driver's XDP features"), err)
	}
	return f, nil
}
