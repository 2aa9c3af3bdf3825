// SPDX-License-Identifier: MIT

package endpoint

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
)

// Both ends find the same beginning in their schedules, in the ramp; without a schedule in
// common there is none.
func TestPaceBegins(t *testing.T) {
	for _, x := range []struct{ ramp, want time.Duration }{{40 * time.Millisecond, 10 * time.Millisecond},
		{time.Second, paceLead}, {0, 0}} {
		for _, offset := range []int64{1e9, 7e15} { // two clocks
			s := wire.Schedule{StartNs: offset, FromNs: offset + int64(x.ramp)}
			want := int64(0)
			if x.ramp > 0 {
				want = offset + int64(x.want)
			}
			if got := paceBegins(s); got != want {
				t.Errorf("ramp %v: %d, want %d", x.ramp, got, want)
			}
		}
	}
	if got := paceBegins(wire.Schedule{DurationNs: 1e9}); got != 0 {
		t.Errorf("ends without a controller have %d in common", got)
	}
}

// A window's times are those booked in it, and a flow that was not timed has none.
func TestDelivery(t *testing.T) {
	if delivery(nil, nil) != nil {
		t.Error("times of nothing")
	}
	var m stream.Meter
	m.Time(stream.NewArrivals(8e9, -time.Second)) // it is late by a second
	m.Bytes(1 << 20)
	from := m.Times()
	if delivery(from, m.Times()) != nil {
		t.Error("times of a window in which nothing came")
	}
	m.Bytes(100 << 20)
	d := delivery(from, m.Times())
	if d == nil || d.Count < 200 || d.Early != 0 || *d.P50Us < .8e6 || *d.MaxUs < *d.P99Us || d.Check() != nil {
		t.Errorf("%+v", d)
	}
	for _, m := range d.Metrics() {
		if m.Name == "" || m.Unit == "" || m.Source == "" {
			t.Errorf("%+v", m)
		}
	}
	*d.P99Us = -1
	if d.Check() == nil {
		t.Error("a time below zero")
	}
}
