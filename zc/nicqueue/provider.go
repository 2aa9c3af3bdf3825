// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// ProbeProvider finds out whether the driver lets queues have memory of others, and changes
// nothing: nil, an [*fault.Unsupported], or an [*fault.Doubt] where only a run can tell. ask
// asks the kernel to give an RX queue some; what it gets it lets go.
//
// What the kernel says of a queue that is not there tells nothing: for a driver that takes
// the instance lock it looks at the number before it looks for queue operations
// (netif_mp_open_rxq of net/core/netdev_rx_queue.c, netdev_nl_bind_rx_doit of
// net/core/netdev-genl.c, Linux 7.2.13 and 7.3.4). So a queue that is there is asked for
// while headers are not split, or not of all packets: that the kernel refuses for every
// driver, but for one without queue operations before it looks at the split
// (__netif_mp_open_rxq). Where all headers are split, it could give the queue the memory, and
// restart it: then it is asked for buffers of a length that no NIC takes ([absurd]). So it could
// where the split is that of the interface that has lent the queue.
func ProbeProvider(mode string, d *nic.Device, ask func(queue int) error) error {
	all, err := d.Queues()
	if err != nil {
		return Unsupported(mode, err)
	}
	if len(all) == 0 || slices.ContainsFunc(all, takenOver) {
		return nil // chooseQueue says what is missing; or it does so now
	}
	drv, _ := d.Driver() // one without a name is in no table
	q := question{mode: mode, dev: d.Name, driver: drv.Ways(), kernel: d.Kernel()}
	if _, err := d.SysFile("device/physfn/vendor"); err == nil {
		q.virtual = true
	}
	h, err := d.HeaderSplit()
	q.split = err == nil && h.State == nic.SplitOn && h.Threshold <= 0
	// which do not look at the split at all, for devmem
	last, at := asked(all, q.split || q.driver.Lent || driver.Before(q.kernel.Release, "6.15"))
	if at != last {
		q.blind = true
		q.takesDMA = func() bool { return d.TakesMemory(last) == nil }
		q.absurd = func() word { return absurd(d, last) }
	}
	return q.answer(ask(at))
}

// asked picks the last queue that can be asked for, and the number to ask for: where the queue
// could be given memory (blind), one that is not there. One that is leased has no DMA device
// (netdev_queue_get_dma_dev): io_uring is refused with EOPNOTSUPP, as with a driver that cannot.
func asked(all []nic.Queue, blind bool) (last, at int) {
	last = all[len(all)-1].ID
	at = last + 1
	for _, q := range all {
		if !q.Leased {
			last = q.ID
		}
	}
	if !blind {
		at = last
	}
	return last, at
}

func takenOver(q nic.Queue) bool {
	return q.Provider == nic.ProviderIOUring || q.Provider == nic.ProviderDMABuf
}

// question is what is known of the driver that was asked.
type question struct {
	mode, dev string
	driver    driver.Driver
	kernel    driver.Kernel
	virtual   bool        // it is a virtual function
	split     bool        // all headers are split
	blind     bool        // the queue asked for is not there
	takesDMA  func() bool // a queue that is there has a DMA device
	absurd    func() word // what is said of a length that no NIC takes; asked where blind
}

// answer makes sense of what the kernel said: nil, why a run would fail, or what it has to tell.
func (q question) answer(err error) error {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) && q.blind && q.takesDMA():
		// mlx5 has no DMA device for a queue that is not there (mlx5e_queue_get_dma_dev).
	case errors.Is(err, unix.EOPNOTSUPP):
		return q.noQueueOps()
	case errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EEXIST),
		errors.Is(err, unix.EBUSY):
	case err != nil:
		return Unsupported(q.mode, err)
	}
	if q.virtual && q.driver.NotVirtual != "" {
		return q.unsupported(fmt.Errorf("%w (EOPNOTSUPP): %s", unix.EOPNOTSUPP, q.driver.NotVirtual), NoQueueOps)
	}
	switch q.driver.Takes(q.kernel) {
	case driver.Can:
		return nil
	case driver.NotYet:
		return q.unsupported(errors.New(q.driver.TakesSince()), "use Linux "+q.driver.Receives+" or later")
	case driver.Perhaps:
		return q.perhaps()
	}
	return q.unknown()
}

// unknown judges a driver of which nothing is known, or which could not when it was read: whether
// it has queue operations is all that the kernel says.
func (q question) unknown() error {
	has := word(untold)
	switch {
	case driver.Before(q.kernel.Release, "7.0"): // which look at header split before queue operations (net_mp_open_rxq)
	case !q.blind:
		has = yes
	default:
		has = q.absurd()
	}
	switch {
	case has == no:
		return q.noQueueOps()
	case has == untold:
		return q.inconclusive()
	case q.driver.Known():
		return &fault.Doubt{Mode: q.mode, Why: fmt.Sprintf("the driver of %s has queue operations, though %s of "+
			"Linux %s does not hand provider memory on: only a run can tell",
			q.dev, q.driver.Name, driver.ReadIn),
			How: "run it: a driver that does not is refused with ENODATA, and nothing stays changed"}
	}
	return nil
}

func (q question) noQueueOps() error {
	return q.unsupported(fmt.Errorf("%w (EOPNOTSUPP): the driver has no queue operations for memory providers",
		unix.EOPNOTSUPP), NoQueueOps)
}

func (q question) unsupported(err error, how string) error {
	return &fault.Unsupported{Mode: q.mode, Op: "register a queue of " + q.dev, Err: err, How: how}
}

// perhaps returns the doubt about a kernel, or a driver's module, whose version does not show what
// is in it.
func (q question) perhaps() error {
	from, or := "this kernel's release ("+q.kernel.Release+
		") is not one of kernel.org's, and may have parts of later ones", "use Linux "+q.driver.Receives+" or later"
	if q.kernel.Foreign {
		from, or = "the driver's module did not come with this kernel ("+q.kernel.Release+")",
			"use the driver that comes with Linux "+q.driver.Receives+" or later"
	}
	return &fault.Doubt{Mode: q.mode,
		Why: fmt.Sprintf("%s hands provider memory on from Linux %s, but %s: only a run can tell", q.driver.Name,
			q.driver.Receives, from),
		How: "run it: a driver that does not is refused with ENODATA, and nothing stays changed; or " + or}
}

// inconclusive returns the doubt about a driver whose answer another one could have given too.
func (q question) inconclusive() error {
	whose := "its driver"
	if q.driver.Name != "" {
		whose = "driver " + q.driver.Name
	}
	return &fault.Doubt{Mode: q.mode, Why: fmt.Sprintf("whether the queues of %s take memory cannot be known "+
		"without giving them some, and %s is not known to do it: only a run can tell", q.dev, whose),
		How: "run it: a driver that cannot is refused, and nothing stays changed; zcbench knows of " +
			driver.Receivers("and", true)}
}
