// SPDX-License-Identifier: MIT

package zcrx

import (
	"sync"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

var features = sync.OnceValue(uring.Probe)

// probe tries what the mode zcrx needs of the kernel; ProbeDevice says whether a
// NIC can.
func probe() error {
	return tape.Try("kernel for rx "+Mode, func() error {
		f := features()
		return uring.Lacking(Mode, f.Ring, f.SingleIssuer, f.DeferTaskrun, f.CQE32, f.Zcrx)
	})
}

// ProbeNoDevice tries what the mode zcrx-nodev needs, by registering memory.
func ProbeNoDevice() error {
	f := features()
	return uring.Lacking(ModeNoDevice, f.Ring, f.SingleIssuer, f.DeferTaskrun, f.CQE32, f.Zcrx, f.ZcrxNoDevice,
		f.ZcrxFlush)
}

// ProbeDevice goes through all that the mode zcrx asks of interface dev and
// changes nothing there: the first thing that is missing, in the order in which
// a run would meet it. It cannot tell what a driver does with a setting until it
// is set.
func ProbeDevice(dev string) error {
	if err := probe(); err != nil {
		return err
	}
	return nicqueue.Probe(Mode, dev, func(d *nic.Device) error { return nicqueue.ProbeRegister(Mode, d) })
}

// ProbeProvider asks the driver whether its queues take memory of io_uring: a part of
// [ProbeDevice].
func ProbeProvider(dev string) error {
	if err := probe(); err != nil {
		return err
	}
	return nicqueue.On(Mode, dev, func(d *nic.Device) error { return nicqueue.ProbeRegister(Mode, d) })
}

// probeQueue checks that the last queue is free, which the mode takes by default: a part of
// [ProbeDevice].
func probeQueue(dev string) error { return nicqueue.ProbeQueue(Mode, dev) }
