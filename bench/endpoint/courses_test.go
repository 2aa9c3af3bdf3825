// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
)

// What grew is a series from the window's start on, told once for a thread's flows; what grew
// within the window is noted, and what grew before or after it is not.
func TestCourses(t *testing.T) {
	e := newEnd(several(wire.EndSpec{Role: stream.RX}, 2), stream.Mode{}, stream.Options{})
	w := &worker{end: e, own: e.flows}
	const ms = int64(time.Millisecond)
	c := stream.Course{Name: "area_bytes", Unit: "bytes", AtNs: []int64{1 * ms, 4 * ms, 12 * ms, 30 * ms},
		V: []float64{1, 2, 4, 8}}
	for _, f := range e.flows {
		f.worker = w
		f.result.evidence.Courses = []stream.Course{c}
	}
	r := &run{end: e}
	r.from.atNs, r.to.atNs = 10*ms, 20*ms
	all := r.courses()
	if len(all) != 1 || all[0].Name != "flow0_area_bytes" || !slices.Equal(all[0].V, c.V) ||
		!slices.Equal(all[0].T, []int64{-9 * ms, -6 * ms, 2 * ms, 20 * ms}) {
		t.Errorf("%+v", all)
	}
	if len(r.warnings) != 1 || !strings.Contains(r.warnings[0], "after 2ms, from 2 to 4") {
		t.Errorf("%q", r.warnings)
	}
}
