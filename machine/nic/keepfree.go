// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
)

// SplitAll returns the header split setting that a queue with foreign memory needs: on, for packets
// of every size. before is what is set now.
func SplitAll(before HeaderSplit) HeaderSplit {
	return HeaderSplit{State: SplitOn, Threshold: min(before.Threshold, 0)} // -1 where the driver has none
}

// TableWithout computes the RSS setting that keeps flows off RX queues, except those that a rule
// sends there. At least one queue must be left for others.
func (d *Device) TableWithout(out ...int) (string, error) {
	queues, err := d.Queues()
	if err != nil {
		return "", err
	}
	n := len(queues)
	left := slices.DeleteFunc(slices.Clone(queues), func(q Queue) bool { return slices.Contains(out, q.ID) })
	switch {
	case n < 2:
		return "", &fault.Error{Op: d.op("keep RX queue %s free of other flows", listed(out)),
			Err: fmt.Errorf("it has only %d RX queue", n),
			How: "make more: " + d.MoreQueues("2")}
	case len(left) == 0:
		return "", &fault.Error{Op: d.op("keep RX queues %s free of other flows", listed(out)),
			Err: fmt.Errorf("these are all its %d RX queues, and none would be left for other flows", n),
			How: fmt.Sprintf("make more: %s; or use fewer: --queues, or --flows", d.MoreQueues(fmt.Sprint(n+1)))}
	}
	before, err := d.Table()
	if err != nil {
		return "", err
	}
	table := without(before, out, n)
	if isDefault(table, n) {
		return RSSDefault, nil
	}
	return tableText(table), nil
}

// listed joins queues for people, in order.
func listed(queues []int) string {
	var s []string
	for _, q := range slices.Compact(slices.Sorted(slices.Values(queues))) {
		s = append(s, strconv.Itoa(q))
	}
	return strings.Join(s, ", ")
}
