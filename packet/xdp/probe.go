// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/nic"
)

// programsOf lists the programs of a way.
func programsOf(w way) []string {
	switch {
	case w.xdp && w.action == toCPU:
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
		c, err := load(someones().constants(), nil, programs...)
		if err != nil {
			return cannot(mode, err)
		}
		c.Close()
		return nil
	}
}

// ProbeRung tries whether the kernel takes the program of a rung.
func ProbeRung() error {
	c, err := load(someones().constants(), nil, framesProgRung)
	if err == nil {
		c.Close()
	}
	return err
}

// someones makes tuples that belong to nobody (RFC 5737).
func someones() Tuples {
	return Tuples{Source: netip.AddrFrom4([4]byte{192, 0, 2, 1}), Dest: netip.AddrFrom4([4]byte{192, 0, 2, 2}),
		FirstPort: 1, DestPort: 1}
}

// probeDevice looks whether a mode can have an interface, without changing it, and whether the
// kernel takes its programs.
func probeDevice(role stream.Role, mode string, xdp bool, kernel func() error) func(dev string) error {
	return func(dev string) error {
		if dev == "lo" {
			return &fault.Unsupported{Mode: mode, Op: "no frames arrive at the loopback", Err: unix.EOPNOTSUPP,
				How: twoHosts}
		}
		d, err := nic.Open(dev)
		if err != nil {
			return cannot(mode, err)
		}
		defer d.Close()
		if xdp && d.HasXDP() {
			return cannot(mode, Taken(dev, unix.EBUSY))
		}
		if kernel == nil {
			return nil
		}
		return tape.Try(fmt.Sprintf("kernel for %s %s", role, mode), kernel)
	}
}

// cannot turns err into the error of a mode that cannot run here.
func cannot(mode string, err error) error {
	if u := (*fault.Unsupported)(nil); err == nil || errors.As(err, &u) {
		return err
	}
	how := fault.Fix(err)
	if errno := unix.Errno(0); how == "" && errors.As(err, &errno) {
		how = "see the kernel's messages: dmesg"
	}
	return &fault.Unsupported{Mode: mode, Op: err.Error(), How: how}
}
