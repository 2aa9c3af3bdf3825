// SPDX-License-Identifier: MIT

package nic

import "fmt"

// MoreQueues words the command that gives the interface n RX queues: by combined channels, or by
// those that receive and send where the driver has no combined ones, as gve.
func (d *Device) MoreQueues(n string) string {
	c, err := d.Channels()
	if err == nil && c.CombinedMax == 0 && c.RXMax > 0 {
		return fmt.Sprintf("ethtool -L %s rx %s tx %s", d.Name, n, n)
	}
	return fmt.Sprintf("ethtool -L %s combined %s", d.Name, n)
}

// orMore follows the advice to take one of the queues that there are: how to make more, unless the
// driver has no channels that can be set, or has as many already as it can.
func (d *Device) orMore(have int) string {
	c, err := d.Channels()
	if err != nil || max(c.CombinedMax, c.RXMax) <= have {
		return ""
	}
	return fmt.Sprintf(", or make more (%s)", d.MoreQueues("N"))
}

// SplitCommand words the command that splits headers from payload in packets of every size, with a
// threshold only where the driver has one: gve refuses the word.
func (h HeaderSplit) SplitCommand(dev string) string {
	if h.Threshold < 0 {
		return "ethtool -G " + dev + " tcp-data-split on"
	}
	return "ethtool -G " + dev + " tcp-data-split on hds-thresh 0"
}
