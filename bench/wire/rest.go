// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/counter"
)

// Requests about what a host's CPUs do between runs.
const (
	OpRestBegin Op = "rest-begin" // RestParams -> nothing; instead of one that was begun
	OpRestEnd   Op = "rest-end"   // nothing -> Rest
)

// RestParams names the interfaces of the flows, whose pollers are told apart.
type RestParams struct {
	Devs []string `json:"devs,omitempty"`
}

// Check refuses interfaces that no end has.
func (p *RestParams) Check() error { return checkDevs(p.Devs) }

// Rest is what the CPUs did since it began.
type Rest struct {
	WallS float64           `json:"wall_s"`
	CPUs  []counter.RestCPU `json:"cpus"`
	// Why is why pollers could not be looked for, or not all were found: what they did is then
	// among what the CPUs did. Empty: all are told apart.
	Why string `json:"why,omitempty"`
}

// Check refuses what no CPU does.
func (r *Rest) Check() error {
	if !(r.WallS >= 0 && r.WallS <= mostSeconds) {
		return fmt.Errorf("a rest of %g s", r.WallS)
	}
	var cpus []int
	for _, c := range r.CPUs {
		cpus = append(cpus, c.CPU)
		for _, v := range []float64{c.BusyCores, c.UncertaintyCores, orZero(c.PollerCores)} {
			if !(v >= 0 && v <= 1e3) {
				return fmt.Errorf("%g cores of CPU %d at rest", v, c.CPU)
			}
		}
		if c.BusyCores > 1.1 {
			return fmt.Errorf("%g cores of CPU %d at rest", c.BusyCores, c.CPU)
		}
	}
	return checkCPUs("cpus at rest", cpus)
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
