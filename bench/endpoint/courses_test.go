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
// before the window or within it is noted with when and to what, and what grew after it is not.
func TestCourses(t *testing.T) {
	e := newEnd(several(wire.EndSpec{Role: stream.RX}, 2), stream.Mode{}, stream.Options{})
	w := &worker{end: e, own: e.flows}
	const ms = int64(time.Millisecond)
	c := stream.Course{Name: "area_bytes", Unit: "bytes", AtNs: []int64{1 * ms, 4 * ms, 5 * ms, 12 * ms, 30 * ms},
		V: []float64{16 << 20, 32 << 20, 64 << 20, 128 << 20, 256 << 20}}
	for _, f := range e.flows {
		f.worker = w
		f.result.evidence.Courses = []stream.Course{c}
	}
	r := &run{end: e}
	r.from.atNs, r.to.atNs = 10*ms, 20*ms
	all := r.courses()
	if len(all) != 1 || all[0].Name != "flow0_area_bytes" || !slices.Equal(all[0].V, c.V) ||
		!slices.Equal(all[0].T, []int64{-9 * ms, -6 * ms, -5 * ms, 2 * ms, 20 * ms}) {
		t.Errorf("%+v", all)
	}
	for i, want := range []string{"changed within the window, after 0.002 s, from 64 MiB to 128 MiB",
		"changed before the window, from 16 MiB to 32 MiB 0.006 s before it, to 64 MiB 0.005 s before it"} {
		if len(r.warnings) != 2 || !strings.Contains(r.warnings[i], want) {
			t.Errorf("%q, want %s", r.warnings, want)
		}
	}
}
