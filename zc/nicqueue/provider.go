// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/tape"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// takers are the drivers that let queues have memory of others in Linux 7.3.4, for where
// the kernel's answer tells nothing.
var takers = []string{"bnxt_en", "mlx5_core", "gve", "fbnic", "netkit", "softnic"}

// ProbeProvider finds out whether the driver lets queues have memory of others, and changes
// nothing. ask asks the kernel to give an RX queue some; what it gets it lets go.
//
// What the kernel says of a queue that is not there tells nothing: for a driver that takes
// the instance lock it looks at the number before it looks for queue operations
// (netif_mp_open_rxq of net/core/netdev_rx_queue.c, netdev_nl_bind_rx_doit of
// net/core/netdev-genl.c, Linux 7.2.13 and 7.3.4). So a queue that is there is asked for
// while headers are not split, or not of all packets: that the kernel refuses for every
// driver, but for one without queue operations before it looks at the split
// (__netif_mp_open_rxq). Where all headers are split, it could give the queue the memory, and
// restart it.
func ProbeProvider(mode string, d *nic.Device, ask func(queue int) error) error {
	all, err := d.Queues()
	if err != nil {
		return Unsupported(mode, err)
	}
	if len(all) == 0 || slices.ContainsFunc(all, takenOver) {
		return nil // chooseQueue says what is missing; or it does so now
	}
	drv, _ := d.Driver() // one without a name is in no table
	q := question{mode: mode, dev: d.Name, model: drv.Model(), release: release()}
	if _, err := d.SysFile("device/physfn/vendor"); err == nil {
		q.virtual = true
	}
	last := all[len(all)-1].ID
	h, err := d.HeaderSplit()
	q.split = err == nil && h.State == nic.SplitOn && h.Threshold <= 0
	if q.split || before(q.release, 6, 15) { // which do not look at the split at all, for devmem
		q.blind = true
		q.takesDMA = func() bool { return d.TakesMemory(last) == nil }
		return q.answer(ask(last + 1))
	}
	return q.answer(ask(last))
}

func takenOver(q nic.Queue) bool {
	return q.Provider == nic.ProviderIOUring || q.Provider == nic.ProviderDMABuf
}

// question is what is known of the driver that was asked.
type question struct {
	mode, dev, model string
	release          string      // of the kernel
	virtual          bool        // it is a virtual function
	split            bool        // all headers are split
	blind            bool        // the queue asked for is not there
	takesDMA         func() bool // a queue that is there has a DMA device
}

// answer makes sense of what the kernel said: nil, or why a run would fail.
func (q question) answer(err error) error {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) && q.blind && q.takesDMA():
		// mlx5 has no DMA device for a queue that is not there (mlx5e_queue_get_dma_dev).
	case errors.Is(err, unix.EOPNOTSUPP):
		return q.unsupported(fmt.Errorf("%w: the driver has no queue operations for memory providers", unix.EOPNOTSUPP), NoQueueOps)
	case errors.Is(err, unix.ERANGE), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EEXIST), errors.Is(err, unix.EBUSY):
	case err != nil:
		return Unsupported(q.mode, err)
	}
	if q.model == "bnxt_en" && q.virtual {
		// BNXT_SUPPORTS_QUEUE_API of bnxt.h; it has other operations (bnxt_queue_mgmt_ops_unsupp)
		return q.unsupported(fmt.Errorf("%w: bnxt has queue operations for memory providers only on physical functions", unix.EOPNOTSUPP), NoQueueOps)
	}
	if slices.Contains(takers, q.model) || !q.blind && !before(q.release, 7, 0) {
		return nil
	}
	return q.inconclusive()
}

func (q question) unsupported(err error, how string) error {
	return &fault.Unsupported{Mode: q.mode, Op: "register a queue of " + q.dev, Err: err, How: how}
}

// inconclusive is of a driver in no table, whose answer another one could have given too.
func (q question) inconclusive() error {
	driver := "its driver"
	if q.model != "" {
		driver = "driver " + q.model
	}
	op := fmt.Sprintf("whether the queues of %s take memory cannot be known without giving them some: inconclusive, and %s is not known to support it", q.dev, driver)
	how := "check again while headers are not split: ethtool -G " + q.dev + " tcp-data-split off; or " + NoQueueOps
	if before(q.release, 7, 0) {
		how = "use Linux 7.0 or later, which reports it before changing anything; or " + NoQueueOps
	}
	return &fault.Unsupported{Mode: q.mode, Op: op, How: how}
}

// before reports whether a kernel is older than a version. Those before 7.0 look at header
// split before they look for queue operations (net_mp_open_rxq, Linux 6.18).
func before(release string, major, minor int) bool {
	var a, b int
	_, err := fmt.Sscanf(release, "%d.%d", &a, &b)
	return err == nil && (a < major || a == major && b < minor)
}

func release() string {
	text, _ := tape.Ask("host: kernel release", func() (string, error) {
		var u unix.Utsname
		err := unix.Uname(&u)
		return unix.ByteSliceToString(u.Release[:]), err
	})
	return text
}
