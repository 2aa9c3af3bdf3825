// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
)

// courses makes series of what the data paths say of figures that changed: of several flows with
// the number of the first of those that have it together. What changed is told with when: before
// the window, or within it, where figures of before and after it are mixed.
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
			var before []string
			for i, at := range c.AtNs {
				s.T = append(s.T, at-r.from.atNs)
				switch {
				case i == 0 || at >= r.to.atNs:
				case at <= r.from.atNs:
					before = append(before, fmt.Sprintf("to %s %.3f s before it", ofCourse(&c, i),
						seconds(r.from.atNs-at)))
				default:
					r.warnings = append(r.warnings, fmt.Sprintf("%s%s changed within the window, after %.3f s, from "+
						"%s to %s: until then the NIC found no buffer at times; begin with more (--area-start), or "+
						"let the flow run for longer before (--ramp-up)", r.end.called(f), c.Name,
						seconds(at-r.from.atNs), ofCourse(&c, i-1), ofCourse(&c, i)))
				}
			}
			if before != nil {
				r.warnings = append(r.warnings, fmt.Sprintf("%s%s changed before the window, from %s %s",
					r.end.called(f), c.Name, ofCourse(&c, 0), strings.Join(before, ", ")))
			}
			all = append(all, s)
		}
	}
	return all
}

// ofCourse formats a value of a course: of memory, in MiB.
func ofCourse(c *stream.Course, i int) string {
	if c.Unit == "bytes" {
		return fmt.Sprintf("%.4g MiB", c.V[i]/(1<<20))
	}
	return fmt.Sprintf("%g %s", c.V[i], c.Unit)
}

func seconds(ns int64) float64 { return duration(ns).Seconds() }
