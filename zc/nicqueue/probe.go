// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Probe goes through all that taking over a queue of interface dev asks for and
// changes nothing there: the first thing that is missing, in the order in which a
// run would meet it. registers says whether the driver lets queues have memory of
// the mode. It cannot tell what a driver does with a setting until it is set.
func Probe(mode, dev string, registers func(*nic.Device) error) error {
	return On(mode, dev, func(d *nic.Device) error { return probe(mode, d, registers) })
}

// On calls f with interface dev.
func On(mode, dev string, f func(*nic.Device) error) error {
	d, err := nic.Open(dev)
	if err != nil {
		return Unsupported(mode, err)
	}
	defer d.Close()
	return f(d)
}

// ProbeQueue looks whether the queue of dev that is taken unless another is asked
// for is free.
func ProbeQueue(mode, dev string) error {
	return On(mode, dev, func(d *nic.Device) error {
		_, err := chooseQueue(mode, d, nil)
		return err
	})
}

func probe(mode string, d *nic.Device, registers func(*nic.Device) error) error {
	if _, err := chooseQueue(mode, d, nil); err != nil {
		return err
	}
	if d.HasXDP() {
		return xdpAttached(mode, d)
	}
	if err := registers(d); err != nil {
		return err
	}
	h, err := d.HeaderSplit()
	if err == nil && h.State == nic.SplitUnknown && h.Threshold < 0 {
		return &fault.Unsupported{Mode: mode, Op: "the driver of " + d.Name + " does not tell of header split", How: "use a NIC and driver that can split headers from payload"}
	}
	if err != nil {
		return Unsupported(mode, err)
	}
	if all, err := d.Queues(); err == nil && len(all) < 2 {
		return &fault.Unsupported{Mode: mode, Op: fmt.Sprintf("%s has %d RX queue, and the flow needs one for itself", d.Name, len(all)), How: "make more: ethtool -L " + d.Name + " combined 2"}
	}
	if _, err := d.Indirection(); err != nil {
		return Unsupported(mode, err)
	}
	if _, err := d.HasRules(); err != nil {
		return Unsupported(mode, err)
	}
	return nil
}

// ProbeRegister finds out whether the driver lets queues have a memory provider,
// by asking io_uring for the queue behind the last: a driver that could says that
// there is no such queue, and nothing is touched. Newer kernels look up the queue's DMA
// device first, and a driver may have none for a queue that is not there (mlx5: Linux
// 6.18, mlx5e_queue_get_dma_dev): then a queue that is there is asked for.
func ProbeRegister(mode string, d *nic.Device) error {
	all, err := d.Queues()
	if err != nil {
		return Unsupported(mode, err)
	}
	ring, err := uring.New(uring.Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, CQE32: true})
	if err != nil {
		return Unsupported(mode, err)
	}
	defer ring.Close()
	mem, err := uring.NewMemory(64<<10, uring.PagesBase)
	if err != nil {
		return Unsupported(mode, err)
	}
	defer mem.Close()
	_, err = ring.NewZcrx(uring.ZcrxOptions{IfIndex: d.Index, Queue: len(all), Area: uring.ZcrxArea{Bytes: mem.Bytes()}, RefillEntries: 16})
	switch {
	case err == nil, errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINVAL):
		return nil
	case errors.Is(err, unix.EOPNOTSUPP) && len(all) > 0 && d.TakesMemory(len(all)-1) == nil:
		return nil
	case errors.Is(err, unix.EOPNOTSUPP):
		return &fault.Unsupported{Mode: mode, Op: "register a queue of " + d.Name, Err: fmt.Errorf("%w: the driver has no queue operations for memory providers", unix.EOPNOTSUPP),
			How: NoQueueOps}
	}
	return Unsupported(mode, err)
}
