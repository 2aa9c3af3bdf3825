// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"
)

// courses makes series of what the data paths say of figures that changed: of several flows with
// the number of the first of those that have it together. What changed within the window is told:
// figures of before and after it are mixed there.
func (r *run) courses() (all []measure.Series) {
	for _, f := range r.end.flows {
		if f != f.worker.own[0] {
			continue
		}
		for _, c := range f.result.evidence.Courses {
			s := measure.Series{Name: c.Name, Unit: c.Unit, V: c.V}
			if len(r.end.flows) > 1 {
				s.Name = measure.FlowMetric(f.N, c.Name)
			}
			for i, at := range c.AtNs {
				s.T = append(s.T, at-r.from.atNs)
				if i > 0 && at > r.from.atNs && at < r.to.atNs {
					r.warnings = append(r.warnings, fmt.Sprintf("%s%s changed within the window, after %v, from %g to "+
						"%g: until then the NIC found no buffer at times; begin with more (--area-start), or let the "+
						"flow run for longer before (--ramp-up)",
						r.end.called(f), c.Name, duration(at-r.from.atNs), c.V[i-1], c.V[i]))
				}
			}
			all = append(all, s)
		}
	}
	return all
}
