package zcrx

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/uring"
	"golang.org/x/sys/unix"
)

var features = sync.OnceValue(uring.Probe)

// Probe tries what the mode zcrx needs of the kernel; ProbeDevice says whether a
// NIC can.
func Probe() error {
	f := features()
	return lacking(Mode, f.Ring, f.SingleIssuer, f.DeferTaskrun, f.CQE32, f.Zcrx)
}

// ProbeNoDevice tries what the mode zcrx-nodev needs, by registering memory.
func ProbeNoDevice() error {
	f := features()
	return lacking(ModeNoDevice, f.Ring, f.SingleIssuer, f.DeferTaskrun, f.CQE32, f.Zcrx, f.ZcrxNoDevice, f.ZcrxFlush)
}

func lacking(mode string, needed ...uring.Feature) error {
	for _, f := range needed {
		if !f.Supported {
			return &stream.Unsupported{Mode: mode, Op: f.Name, Err: f.Err(), How: f.Fix}
		}
	}
	return nil
}

// ProbeDevice goes through all that the mode zcrx asks of interface dev and
// changes nothing there: the first thing that is missing, in the order in which
// a run would meet it. It cannot tell what a driver does with a setting until it
// is set.
func ProbeDevice(dev string) error {
	if err := Probe(); err != nil {
		return err
	}
	d, err := nic.Open(dev)
	if err != nil {
		return unsupported(Mode, err)
	}
	defer d.Close()
	if _, err := chooseQueue(d, nil); err != nil {
		return err
	}
	if d.HasXDP() {
		return &stream.Unsupported{Mode: Mode, Op: "an XDP program is attached to " + dev, How: "detach it: ip link set dev " + dev + " xdp off"}
	}
	if err := probeDevice(d); err != nil {
		return err
	}
	h, err := d.HeaderSplit()
	if err == nil && h.State == nic.SplitUnknown && h.Threshold < 0 {
		return &stream.Unsupported{Mode: Mode, Op: "the driver of " + dev + " does not tell of header split", How: "use a NIC and driver that can split headers from payload"}
	}
	if err != nil {
		return unsupported(Mode, err)
	}
	if all, err := d.Queues(); err == nil && len(all) < 2 {
		return &stream.Unsupported{Mode: Mode, Op: fmt.Sprintf("%s has %d RX queue, and the flow needs one for itself", dev, len(all)), How: "make more: ethtool -L " + dev + " combined 2"}
	}
	if _, err := d.Indirection(); err != nil {
		return unsupported(Mode, err)
	}
	if _, err := d.HasRules(); err != nil {
		return unsupported(Mode, err)
	}
	return nil
}

// probeDevice finds out whether the driver lets queues have a memory provider,
// by asking for the queue behind the last: a driver that could says that there
// is no such queue, and nothing is touched.
func probeDevice(d *nic.Device) error {
	all, err := d.Queues()
	if err != nil {
		return unsupported(Mode, err)
	}
	ring, err := uring.New(uring.Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, CQE32: true})
	if err != nil {
		return unsupported(Mode, err)
	}
	defer ring.Close()
	mem, err := uring.NewMemory(64<<10, uring.PagesBase)
	if err != nil {
		return unsupported(Mode, err)
	}
	defer mem.Close()
	_, err = ring.NewZcrx(uring.ZcrxOptions{IfIndex: d.Index, Queue: len(all), Area: uring.ZcrxArea{Bytes: mem.Bytes()}, RefillEntries: 16})
	switch {
	case err == nil, errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINVAL):
		return nil
	case errors.Is(err, unix.EOPNOTSUPP):
		return &stream.Unsupported{Mode: Mode, Op: "register a queue of " + d.Name, Err: fmt.Errorf("%w: the driver has no queue operations for memory providers", unix.EOPNOTSUPP),
			How: "use a NIC and driver that have them: bnxt, mlx5, gve (DQO-RDA) or fbnic of a recent kernel"}
	}
	return unsupported(Mode, err)
}
