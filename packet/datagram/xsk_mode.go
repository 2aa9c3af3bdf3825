// SPDX-License-Identifier: MIT

package datagram

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/packet/xsk"
)

// lostBeforeXSK are the counters of frames that the XDP program never saw: what AF_XDP itself lost
// its own counters tell (XDP_STATISTICS), and a driver's rx_dropped repeats it.
var lostBeforeXSK = []string{"rx_missed", "softnet_dropped"}

// xskOf fills in what both modes of AF_XDP have in common.
func xskOf(m stream.Mode) stream.Mode {
	m.Role, m.Kind, m.Kernel, m.LostAt = stream.RX, stream.Datagram, "6.8", lostBeforeXSK
	m.Traits |= stream.AFXDP | stream.NeedsDev
	m.Needs = []stream.Need{stream.NeedCapability, stream.NeedMemlock, stream.NeedAFXDP, stream.NeedInterface,
		stream.NeedNoXDP, stream.NeedNativeXDP}
	if m.Has(stream.ZeroCopy) {
		m.Needs = append(m.Needs, stream.NeedXSKZeroCopy)
	}
	name, zero := m.Name, m.Has(stream.ZeroCopy)
	m.Probe = func() error {
		if err := xsk.Probe(); err != nil {
			return lacking(name, err)
		}
		return lacking(name, xdp.ProbeRung())
	}
	m.ProbeDevice = func(dev string) error { return probeXSK(name, zero, dev, m.Probe) }
	return m
}

// probeXSK looks whether an interface can have the mode's program, and the sockets what they ask
// of its driver, without changing it.
func probeXSK(mode string, zero bool, dev string, kernel func() error) error {
	if dev == "lo" {
		return &fault.Unsupported{Mode: mode, Op: "no XDP program has the loopback's packets in a driver",
			Err: unix.EOPNOTSUPP, How: "it needs two hosts: namespaces joined by a veth, as zcbench demo has " +
				"them, or two machines"}
	}
	d, err := nic.Open(dev)
	if err != nil {
		return lacking(mode, err)
	}
	defer d.Close()
	if d.HasXDP() {
		return lacking(mode, xdp.Taken(dev, unix.EBUSY))
	}
	if f, err := d.XDPFeatures(); zero && err == nil && f&nic.XDPZeroCopy == 0 {
		return &fault.Unsupported{Mode: mode,
			Op:  fmt.Sprintf("the driver of %s has no zero copy for AF_XDP (netdev dev-get: xdp-features)", dev),
			Err: unix.EOPNOTSUPP, How: "take --rx udp-xsk, which copies, or a NIC whose driver has it"}
	}
	return tape.Try(fmt.Sprintf("kernel for rx %s", mode), kernel)
}
