// SPDX-License-Identifier: MIT

package results

import "slices"

// CPUNetCores subtracts from the measured CPUs' busy cores what they use while nothing flows; nil
// if the rests were not measured.
func (h *Host) CPUNetCores() *float64 { return minus(h.CPUBusyCores, h.CPUIdleCores) }

// NetPowerW subtracts the idle host's power from the power; nil if one of the two was not measured.
func (h *Host) NetPowerW() *float64 { return minus(h.PowerW, h.PowerIdleW) }

func minus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a - *b)
}

// NetJoulePerGB computes the energy beyond that of the idle host per 1e9 bytes of payload; nil if
// not measured or no byte was transferred.
func (h *Host) NetJoulePerGB() *float64 { return h.joulePerGB(h.NetPowerW()) }

func (h *Host) joulePerGB(watts *float64) *float64 {
	if watts == nil || h.DurationS == nil || h.Bytes == nil || h.Transactions != nil || h.checks() {
		return nil
	}
	return finite(*watts * *h.DurationS / (float64(*h.bothBytes()) / 1e9))
}

// TotalJoulePerGB sums what both hosts used, gross or net, per 1e9 bytes that the receiver got. An
// instrument that both ends share counts once; figures of different parts of a machine have no sum.
func (r *Record) TotalJoulePerGB(net bool) *float64 {
	if r.MixedScopes() || r.TG.checks() {
		return nil
	}
	a, b := r.SUT.PowerW, r.TG.PowerW
	if net {
		a, b = r.SUT.NetPowerW(), r.TG.NetPowerW()
	}
	return r.SUT.joulePerGB(sumCost(a, b, slices.Contains(r.Flags, FlagSharedPower)))
}
