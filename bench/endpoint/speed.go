// SPDX-License-Identifier: MIT

package endpoint

import (
	"strconv"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

// linkSpeeds reads the speeds of an end's interfaces: of several each one's, and their sum.
func linkSpeeds(devs []string) (out []measure.Metric) {
	if len(devs) == 1 {
		return linkSpeed(devs[0])
	}
	var sum measure.Metric
	for i, dev := range devs {
		for _, m := range linkSpeed(dev) {
			value := sum.Value + m.Value
			sum = m
			sum.Value, m.Name = value, measure.DevMetric(i, m.Name)
			out = append(out, m)
		}
	}
	if len(out) == len(devs) {
		out = append(out, sum)
	}
	return out
}

// linkSpeed reads the speed that the driver of dev tells, nothing where it tells none. Interfaces
// without hardware tell one that means nothing (veth: 10 Gbit/s).
func linkSpeed(dev string) []measure.Metric {
	if dev == "" {
		return nil
	}
	d, err := nic.Open(dev)
	if err != nil {
		return nil
	}
	defer d.Close()
	if d.Software() != "" {
		return nil
	}
	text, err := d.SysFile("speed")
	mbits, perr := strconv.ParseFloat(text, 64)
	if err != nil || perr != nil || mbits <= 0 { // -1: unknown
		return nil
	}
	return []measure.Metric{{Name: measure.MetricLinkSpeed, Unit: "bit/s", Value: mbits * 1e6,
		Source: "/sys/class/net/DEV/speed"}}
}
