// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/hugepages"

	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
)

// Unsupported makes a mode's error of any that knows what failed.
func Unsupported(mode string, err error) error {
	u := &fault.Unsupported{Mode: mode, Op: err.Error(), How: fault.Fix(err)}
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.Err != nil {
		u.Op, u.Err = e.Op, e.Err
		if e.Ack != "" {
			u.Err = fmt.Errorf("%w: %s", e.Err, e.Ack)
		}
	}
	return u
}

// NoMemory makes an [Unsupported] of err where a flow's memory was not to be had, but for huge
// pages that the machine has and others hold: the mode can run here, this run failed.
func NoMemory(mode string, err error) error {
	if short := (*hugepages.Short)(nil); errors.As(err, &short) && short.Busy() {
		return err
	}
	return Unsupported(mode, err)
}

// NoQueueOps is the fix for a driver that cannot do it at all.
var NoQueueOps = "use a NIC and driver that have them: " + driver.Receivers("or", true) + " of a recent kernel"

func xdpAttached(mode string, d *nic.Device) error {
	return &fault.Unsupported{Mode: mode, Blocked: true, Op: "an XDP program is attached to " + d.Name,
		How: "detach it: ip link set dev " + d.Name + " xdp off"}
}

// Cause looks at the device for why a registration of queue id was refused: what
// the kernel checks of any memory provider, in its order
// (net/core/netdev_rx_queue.c, netif_mp_open_rxq). Both are empty when nothing is
// found.
func (q *Queue) Cause() (why, fix string) {
	d := q.Dev
	now, err := d.Queue(q.ID)
	if err != nil {
		return err.Error(), fault.Fix(err)
	}
	if d.HasXDP() {
		err := xdpAttached(q.mode, d)
		return fault.Reason(err), fault.Fix(err)
	}
	if h, err := d.HeaderSplit(); err == nil && (h.State != nic.SplitOn || h.Threshold > 0) {
		return fmt.Sprintf("headers must be split from payload, but the setting is %v", h), h.SplitCommand(d.Name)
	}
	if err := available(q.mode, d, now, q.lent); err != nil {
		return fault.Reason(err), fault.Fix(err)
	}
	return "", ""
}

// Ignored explains a registration that was refused with ENODATA: the driver restarts queues, and
// gives their page pools none of the memory.
func (q *Queue) Ignored() (why, fix string) {
	drv, _ := q.Dev.Driver() // of one without a name nothing is known
	t := drv.Ways().Ignored(q.Dev.Name, q.Dev.Kernel())
	return t.Why, t.Fix
}
