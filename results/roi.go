// SPDX-License-Identifier: MIT

package results

import "math"

// roi computes the return on what a run costs: throughputGbps^n / cost^m.
//
// throughputGbps is in Gbit/s (1e9 bits of payload per second). cost is either compute, in cores
// summed over all CPUs (1.0 = one CPU fully busy), or power in watts; for a total over both hosts
// it is the sum of theirs. The reference experiment uses n = 2 and m = 1, which makes the unit
// (Gbit/s)^2 per core or per watt.
//
// A cost that is not above 0 gives NaN: a run that costs nothing was not measured.
func roi(throughputGbps, n, cost, m float64) float64 {
	if !(cost > 0) {
		return math.NaN()
	}
	return math.Pow(throughputGbps, n) / math.Pow(cost, m)
}

// ROICPU computes [roi] from this host's throughput and busy cores with n = 2, m = 1, in (Gbit/s)^2
// per core; nil if either was not measured.
func (h *Host) ROICPU() *float64 { return h.roi(h.CPUBusyCores) }

// ROIPower computes [roi] from this host's throughput and gross power with n = 2, m = 1, in
// (Gbit/s)^2 per watt; nil if either was not measured.
func (h *Host) ROIPower() *float64 { return h.roi(h.PowerW) }

// roi computes the return on a cost of sending payload: round trips have none.
func (h *Host) roi(cost *float64) *float64 {
	t := h.bothGbps()
	if t == nil || cost == nil || h.Transactions != nil || h.checks() {
		return nil
	}
	return finite(roi(*t, 2, *cost, 1))
}

// NsPerKB computes the CPU time this host was busy per 1000 bytes of payload, in nanoseconds: busy
// cores x duration / bytes. If only the throughput is known, it uses that. Nil if not measured, if
// no byte was transferred, for round trips, which have [Host.CPUUsPerTransaction], and of a sender
// that verifies what comes back.
func (h *Host) NsPerKB() *float64 {
	switch {
	case h.CPUBusyCores == nil || h.Transactions != nil || h.checks():
		return nil
	case h.DurationS != nil && h.Bytes != nil:
		return finite(*h.CPUBusyCores * *h.DurationS * 1e9 / (float64(*h.bothBytes()) / 1000))
	case h.ThroughputGbps != nil:
		const bitsPerKB = 8000 // 1 Gbit/s is 1 bit per nanosecond
		return finite(*h.CPUBusyCores * bitsPerKB / *h.bothGbps())
	}
	return nil
}

// JoulePerGB computes the gross energy this host used per 1e9 bytes of payload; nil if not measured
// or no byte was transferred.
func (h *Host) JoulePerGB() *float64 {
	return h.joulePerGB(h.PowerW)
}

// finite turns a figure that does not exist (a division by zero) into "not
// measured".
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
