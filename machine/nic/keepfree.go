// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
)

// SplitAll is the header split setting that a queue with foreign memory needs: on,
// for packets of every size. before is what is set now.
func SplitAll(before HeaderSplit) HeaderSplit {
	return HeaderSplit{State: SplitOn, Threshold: min(before.Threshold, 0)} // -1 where the driver has none
}

// TableWithout is the RSS setting that keeps flows off an RX queue, but for those
// that a rule sends there. The device needs at least two queues.
func (d *Device) TableWithout(queue int) (string, error) {
	queues, err := d.Queues()
	if err != nil {
		return "", err
	}
	if len(queues) < 2 {
		return "", &fault.Error{Op: d.op("keep RX queue %d free of other flows", queue), Err: fmt.Errorf("it has only %d RX queue", len(queues)),
			How: "make more: " + d.MoreQueues("2")}
	}
	before, err := d.Indirection()
	if err != nil {
		return "", err
	}
	table, _ := without(before, queue, len(queues))
	if isDefault(table, len(queues)) {
		return rssDefault, nil
	}
	return tableText(table), nil
}
