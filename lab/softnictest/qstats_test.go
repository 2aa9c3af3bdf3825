// SPDX-License-Identifier: MIT

package softnictest

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
)

// What qstats-get tells of hardware GRO is what the NIC counted: the attributes' numbers are
// the kernel's.
func TestQStatsTellHWGRO(t *testing.T) {
	needLab(t)
	for i, on := range []bool{true, false} {
		hwGRO(t, on)
		c := count(t)
		before := toldGRO(t)
		transfer(t, listen(t, v4, uint16(5041+i)), 4<<20)
		made, wire := toldGRO(t).HWGRO-before.HWGRO, toldGRO(t).HWGROWire-before.HWGROWire
		if got := c.sum("hw_gro_packets"); made != got || (made > 0) != on || wire < 2*made {
			t.Errorf("rx-gro-hw %v: told %d packets of %d of the wire, counted %d", on, made, wire, got)
		}
	}
}

// toldGRO adds up what qstats-get tells of all queues.
func toldGRO(t *testing.T) (sum nic.QueueStats) {
	t.Helper()
	do(t, rx.NS, func() error {
		d, err := nic.Open(rx.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		all, err := d.QueueStats()
		for id, q := range all {
			if !q.CountsGRO {
				return fmt.Errorf("queue %d is not told of", id)
			}
			sum.HWGRO, sum.HWGROWire = sum.HWGRO+q.HWGRO, sum.HWGROWire+q.HWGROWire
		}
		return err
	})
	return sum
}
