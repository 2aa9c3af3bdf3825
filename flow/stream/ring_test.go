// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/google/go-cmp/cmp"
)

// fakeRing is a ring that can all, or nothing.
type fakeRing struct{ can bool }

func (r fakeRing) NoIowait() bool     { return r.can }
func (r fakeRing) SingleIssuer() bool { return r.can }
func (r fakeRing) DeferTaskrun() bool { return r.can }
func (r fakeRing) Overflow() uint32   { return 3 }
func (r fakeRing) Backlogs() uint64   { return 4 }
func (r fakeRing) Gathers() bool      { return r.can }

// A receiver gathers unless the user says otherwise or fixed the receive buffer.
func TestGatherFor(t *testing.T) {
	own := 7 * time.Microsecond
	fixed := Options{}
	fixed.Socket.RcvBuf = 1 << 20
	both := fixed
	both.Gather = &own
	for name, c := range map[string]struct {
		o    Options
		want time.Duration
	}{"default": {Options{}, GatherTime}, "asked for": {Options{Gather: &own}, own}, "none": {Options{Gather: new(time.Duration)}, 0},
		"fixed buffer": {fixed, 0}, "fixed buffer, asked for": {both, own}} {
		if got := GatherFor(c.o); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What was asked for and cannot be is refused; what nobody asked for is not.
func TestCheckGather(t *testing.T) {
	some := 500 * time.Nanosecond
	for _, c := range []struct {
		can     bool
		gather  *time.Duration
		refused bool
		us      float64
	}{
		{true, nil, false, 50}, {true, &some, false, 0.5}, {true, new(time.Duration), false, 0},
		{false, nil, false, 0}, {false, &some, true, 0}, {false, new(time.Duration), false, 0},
	} {
		r, o := fakeRing{c.can}, Options{Gather: c.gather}
		err := CheckGather("uring", r, o)
		var u *fault.Unsupported
		if errors.As(err, &u) != c.refused || c.refused && (u.Mode != "uring" || u.Op != "gather for 500ns" || fault.Fix(err) == "") {
			t.Errorf("%+v: %v", c, err)
		}
		if f := GatherFigure(r, GatherFor(o)); f != (Figure{"uring_gather_us", "us", c.us}) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

func TestRingFigures(t *testing.T) {
	for can, flag := range map[bool]float64{true: 1, false: 0} {
		want := []Figure{{"uring_no_iowait", "1", flag}, {"uring_single_issuer", "1", flag}, {"uring_defer_taskrun", "1", flag},
			{"uring_cq_lost", "1", 3}, {"uring_cq_backlogs", "1", 4}}
		if d := cmp.Diff(want, RingFigures(fakeRing{can})); d != "" {
			t.Errorf("can %v:\n%s", can, d)
		}
	}
}
