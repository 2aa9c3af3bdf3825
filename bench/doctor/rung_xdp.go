// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/nic"
)

func (f *facts) afXDP() wire.Check {
	return answered(wire.Check{Found: "sockets of AF_XDP can be opened", Needed: "CONFIG_XDP_SOCKETS"}, f.afXDPErr)
}

func (f *facts) pktgen() wire.Check {
	return answered(wire.Check{Found: "/proc/net/pktgen", Needed: "the kernel's module pktgen"}, f.pktgenErr)
}

// xdpWords name what drivers say of XDP, as the kernel's netdev family does.
var xdpWords = []struct {
	bit  nic.XDPFeatures
	name string
}{{nic.XDPBasic, "basic"}, {nic.XDPRedirects, "redirect"}, {nic.XDPTransmits, "ndo-xmit"},
	{nic.XDPZeroCopy, "xsk-zerocopy"}, {nic.XDPOffload, "hw-offload"}, {nic.XDPFragments, "rx-sg"},
	{nic.XDPTransmitsAll, "ndo-xmit-sg"}}

// xdpFound lists what the driver says that it can do.
func (f *facts) xdpFound() string {
	var words []string
	for _, x := range xdpWords {
		if f.xdp&x.bit != 0 {
			words = append(words, x.name)
		}
	}
	if words == nil {
		return "the driver says that it has no XDP"
	}
	return "the driver says: " + strings.Join(words, " ")
}

// nativeXDP: without it generic XDP does, on any interface.
func (f *facts) nativeXDP() wire.Check {
	c := answered(wire.Check{Found: f.xdpFound(), Needed: "basic redirect"}, f.xdpErr)
	if both := nic.XDPBasic | nic.XDPRedirects; c.Status == "ok" && f.xdp&both != both {
		c.Status, c.Fix = "warn", "--xdp-attach generic works on any interface, and copies"
	}
	return c
}

func (f *facts) xskZeroCopy() wire.Check {
	c := answered(wire.Check{Found: f.xdpFound(), Needed: "xsk-zerocopy"}, f.xdpErr)
	if c.Status == "ok" && f.xdp&nic.XDPZeroCopy == 0 {
		c.Status, c.Errno, c.Fix = "lacking", "EOPNOTSUPP",
			"take --rx udp-xsk, which copies, or a NIC whose driver has it"
	}
	return c
}
