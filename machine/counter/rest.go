// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"math"
)

// Rest measures what the CPUs do while nothing flows: the background of a run. What polls
// for a flow does so at rest too, where it busy-polls; that is the flow's, and is told
// apart.
type Rest struct {
	pollers *Pollers
	cpu     CPUSnapshot
	polled  []pollerTimes
}

// RestCPU is one CPU at rest.
type RestCPU struct {
	CPU int `json:"cpu"`
	// BusyCores is all that it did, PollerCores what of that the flow's pollers did; nil:
	// they ran, and where is not known.
	BusyCores   float64  `json:"busy_cores"`
	PollerCores *float64 `json:"poller_cores,omitempty"`
	// UncertaintyCores bounds the error of BusyCores.
	UncertaintyCores float64 `json:"uncertainty_cores"`
}

// BeginRest begins to measure, with the threads that poll for the flow. End must be called.
func BeginRest(fs FS, pollers []int) (*Rest, error) {
	r := &Rest{}
	var err error
	if len(pollers) > 0 {
		r.pollers = OpenPollers(fs, pollers, nil)
		if r.polled, err = r.pollers.Read(); err != nil {
			r.pollers.Close()
			return nil, fmt.Errorf("begin a rest: %w", err)
		}
	}
	if r.cpu, err = ReadCPU(fs); err != nil {
		r.pollers.Close()
		return nil, fmt.Errorf("begin a rest: %w", err)
	}
	return r, nil
}

// Close ends a rest that nobody asks for any more.
func (r *Rest) Close() { r.pollers.Close() }

// End ends it. A CPU that was not online throughout is left out.
func (r *Rest) End(fs FS) (wallS float64, cpus []RestCPU, err error) {
	defer r.pollers.Close()
	now, err := ReadCPU(fs)
	if err != nil {
		return 0, nil, fmt.Errorf("end a rest: %w", err)
	}
	polled, err := r.pollers.Read()
	if err != nil {
		return 0, nil, fmt.Errorf("end a rest: %w", err)
	}
	u := Usage(r.cpu, now, nil)
	uses := r.pollers.between(r.polled, polled, nil)
	for _, c := range u.PerCPU {
		if c.BusyCores == nil {
			continue
		}
		x := RestCPU{CPU: c.CPU, BusyCores: *c.BusyCores, UncertaintyCores: c.UncertaintyCores}
		x.PollerCores = polledOn(uses, c, u.WallS)
		cpus = append(cpus, x)
	}
	return u.WallS, cpus, nil
}

// polledOn sums what the pollers used on a CPU, at most what was busy there; nil where it is not
// known and matters.
func polledOn(uses []pollerUse, c OneCPUUsage, wallS float64) *float64 {
	var sum, unknown float64
	for _, p := range uses {
		switch {
		case p.OnNs != nil:
			sum += float64(p.OnNs[c.CPU]) / 1e9 / wallS
		case p.CPU == c.CPU:
			sum += float64(p.RunNs) / 1e9 / wallS
		case p.CPU < 0:
			unknown += float64(p.RunNs) / 1e9 / wallS
		}
	}
	if unknown > c.UncertaintyCores/2 {
		return nil
	}
	return ptr(math.Min(sum, *c.BusyCores))
}
