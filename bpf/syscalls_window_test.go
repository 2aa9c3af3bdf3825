// SPDX-License-Identifier: MIT

package bpf

import (
	"testing"
	"time"
)

// An average is never outside of the extremes beside it: those that are of other calls are left
// out, and a single call has but one time.
func TestSubCallsExtremes(t *testing.T) {
	const us = time.Microsecond
	// At the reading before, a first call of bpf had ended; that of the reading itself, of 185 us,
	// ended after it, before the window began.
	old := extreme{1 * us, 165 * us}
	read := func(reading uint32, last extreme, min, max time.Duration, took ...time.Duration) Call {
		c := callsOf("bpf", 0, took...)
		c.reading, c.last, c.Min, c.Max = reading, last, min, max
		return c
	}
	first := read(0, old, old.min, old.max, 1*us, 165*us)
	for name, x := range map[string]struct {
		now      Call
		min, max time.Duration
	}{
		"one, of the reading": {read(1, extreme{}, old.min, old.max, 1*us, 165*us, 185*us), 185 * us,
			185 * us},
		"two, one of the reading": {read(1, extreme{10 * us, 10 * us}, old.min, old.max, 1*us, 165*us, 185*us,
			10*us), 0, 0},
		"many, their average within": {read(1, extreme{100 * us, 110 * us}, old.min, old.max, 1*us, 165*us, 185*us,
			100*us, 105*us, 105*us, 105*us, 110*us), 0, 0},
		"all in the window": {read(1, extreme{10 * us, 30 * us}, old.min, old.max, 1*us, 165*us, 10*us,
			20*us, 30*us), 10 * us, 30 * us},
		"all in the window, all alike": {read(1, extreme{10 * us, 10 * us}, old.min, old.max, 1*us, 165*us, 10*us,
			10*us, 10*us), 10 * us, 10 * us},
		"none of the window, two at all": {read(1, extreme{}, old.min, old.max, 1*us, 165*us, 20*us, 20*us), 0, 0},
	} {
		got := SubCalls([]Call{x.now}, []Call{first})
		if len(got) != 1 || got[0].Min != x.min || got[0].Max != x.max {
			t.Errorf("%s: %+v, want %v to %v", name, got, x.min, x.max)
		}
	}
}

// Calls of several turns add up, and least and most times that one does not know are not known.
func TestAddCalls(t *testing.T) {
	one := func(name string, calls uint64, min, max time.Duration) Call {
		return Call{Name: name, Calls: calls, Sum: time.Duration(calls) * 10, Min: min, Max: max}
	}
	sum := AddCalls(nil, []Call{one("read", 2, 5, 15), one("poll", 1, 10, 10)})
	sum = AddCalls(sum, []Call{one("read", 3, 3, 12), one("poll", 1, 0, 0), one("futex", 9, 1, 20)})
	got := map[string]Call{}
	for _, c := range sum {
		got[c.Name] = c
	}
	if c := got["read"]; c.Calls != 5 || c.Sum != 50 || c.Min != 3 || c.Max != 15 {
		t.Errorf("%+v", c)
	}
	if c := got["poll"]; c.Calls != 2 || c.Min != 0 || c.Max != 0 {
		t.Errorf("%+v", c)
	}
	if len(sum) != 3 || sum[0].Name != "futex" {
		t.Errorf("%+v: the most time first", sum)
	}
}
