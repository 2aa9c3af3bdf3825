// SPDX-License-Identifier: MIT

package nicqueue

import (
	"fmt"
	"runtime"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
)

// Probe goes through all that taking over a queue of interface dev asks for and changes nothing
// there: the first thing that is missing, in the order in which a run would meet it; or an
// [*fault.Doubt], if only a run can tell. registers says whether the driver lets queues have
// memory of the mode. It cannot tell what a driver does with a setting until it is set.
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
	doubt := registers(d) // which is no reason to leave a run out: it is told last
	if doubt != nil && fault.Doubtful(doubt) == nil {
		return doubt
	}
	h, err := d.HeaderSplit()
	if err == nil && h.State == nic.SplitUnknown && h.Threshold < 0 {
		return &fault.Unsupported{Mode: mode, Op: "the driver of " + d.Name + " does not report header split",
			How: "use a NIC and driver that can split headers from payload"}
	}
	if err != nil {
		return Unsupported(mode, err)
	}
	if all, err := d.Queues(); err == nil && len(all) < 2 {
		return &fault.Unsupported{Mode: mode, Blocked: true,
			Op:  fmt.Sprintf("%s has %d RX queue, but the flow needs one to itself", d.Name, len(all)),
			How: "make more: " + d.MoreQueues("2")}
	}
	if _, err := d.Indirection(); err != nil && !noTable(err, err) {
		return Unsupported(mode, err)
	}
	if _, err := d.HasRules(); err != nil {
		return Unsupported(mode, err)
	}
	return doubt
}

// ProbeRegister finds out whether the driver lets queues have memory of io_uring.
func ProbeRegister(mode string, d *nic.Device) error {
	// The ring is its thread's: on another the kernel refuses with EEXIST.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ring, err := uring.New(uring.Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, CQE32: true})
	if err != nil {
		return Unsupported(mode, err)
	}
	defer ring.Close() // with what it has registered
	mem, err := uring.NewMemory(64<<10, uring.PagesBase)
	if err != nil {
		return Unsupported(mode, err)
	}
	defer mem.Close()
	return ProbeProvider(mode, d, func(queue int) error {
		_, err := ring.NewZcrx(uring.ZcrxOptions{IfIndex: d.Index, Queue: queue,
			Area: uring.ZcrxArea{Bytes: mem.Bytes()}, RefillEntries: 16})
		return err
	})
}
