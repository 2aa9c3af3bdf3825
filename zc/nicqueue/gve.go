// SPDX-License-Identifier: MIT

package nicqueue

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// firstOfGve refuses queue 0 of gve, which cannot be stopped while there are others
// (gve_rx_queue_stop of gve_main.c, Linux 7.3.4): the kernel would say ERANGE, which stands
// for other things too.
func firstOfGve(mode string, d *nic.Device, id int) error {
	drv, _ := d.Driver() // one without a name is not gve
	if id != 0 || drv.Model() != "gve" {
		return nil
	}
	u := &fault.Unsupported{Mode: mode, Blocked: true, Op: fmt.Sprintf("take over RX queue 0 of %s", d.Name),
		Err: fmt.Errorf("%w: gve refuses to stop queue 0 (gve_rx_queue_stop)", unix.ERANGE), How: "choose another: --queue 1"}
	if all, err := d.Queues(); err == nil && len(all) < 2 {
		u.How = "make more, and choose one other than 0: " + d.MoreQueues("2")
	}
	return u
}
