// SPDX-License-Identifier: MIT

package nicqueue

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// firstQueue refuses queue 0 of a driver that does not stop it (gve): the kernel would say ERANGE,
// which stands for other things too.
func firstQueue(mode string, d *nic.Device, id int) error {
	drv, _ := d.Driver() // one without a name refuses nothing that is known
	why := drv.Ways().NotQueue0
	if id != 0 || why == "" {
		return nil
	}
	u := &fault.Unsupported{Mode: mode, Blocked: true, Op: fmt.Sprintf("take over RX queue 0 of %s", d.Name),
		Err: fmt.Errorf("%w: %s", unix.ERANGE, why), How: "choose another: --queue 1"}
	if all, err := d.Queues(); err == nil && len(all) < 2 {
		u.How = "make more, and choose one other than 0: " + d.MoreQueues("2")
	}
	return u
}
