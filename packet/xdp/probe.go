// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"net/netip"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// programsOf are those of a way.
func programsOf(w way) []string {
	switch {
	case w.xdp && w.action == ToCPU:
		return []string{framesProgRung, framesProgOnCpu}
	case w.xdp:
		return []string{framesProgRung}
	case w.program != "":
		return []string{w.program}
	}
	return nil
}

// probeKernel tries whether the kernel takes the programs of a mode; nil where it has none.
func probeKernel(mode string, programs ...string) func() error {
	if len(programs) == 0 {
		return nil
	}
	return func() error {
		someones := Tuples{Source: netip.AddrFrom4([4]byte{192, 0, 2, 1}), Dest: netip.AddrFrom4([4]byte{192, 0, 2, 2}), FirstPort: 1, DestPort: 1} // of RFC 5737
		c, err := load(someones.constants(MinFrameBytes), nil, programs...)
		if err != nil {
			return cannot(mode, err)
		}
		c.Close()
		return nil
	}
}

// probeDevice looks whether a mode can have an interface, without changing it.
func probeDevice(mode string, xdp bool) func(dev string) error {
	return func(dev string) error {
		l, err := rtnl.LinkNamed(dev)
		switch {
		case err != nil:
			return cannot(mode, err)
		case mode == pktgen:
			if _, err := sourceMAC(dev, l); err != nil {
				return cannot(mode, err)
			}
		case l.Flags&unix.IFF_LOOPBACK != 0:
			return &fault.Unsupported{Mode: mode, Op: "no frames come to " + dev + ", the loopback", Err: unix.EOPNOTSUPP, How: "frames need two hosts: namespaces joined by a veth, as zcbench demo has them, or two machines"}
		case xdp && l.XDP:
			return cannot(mode, taken(dev, unix.EBUSY))
		}
		return nil
	}
}

// cannot says that a mode cannot run here because of err.
func cannot(mode string, err error) error {
	if u := (*fault.Unsupported)(nil); err == nil || errors.As(err, &u) {
		return err
	}
	how := fault.Fix(err)
	if how == "" {
		how = "see what the kernel says: dmesg"
	}
	return &fault.Unsupported{Mode: mode, Op: err.Error(), How: how}
}
