// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"slices"
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
func (r fakeRing) Gathered() uint64   { return 5 }

// A gather time that the ring cannot keep is refused.
func TestCheckGather(t *testing.T) {
	const some = 500 * time.Nanosecond
	for _, c := range []struct {
		can     bool
		gather  time.Duration
		refused bool
	}{{true, 0, false}, {true, some, false}, {false, 0, false}, {false, some, true}} {
		r, o := fakeRing{c.can}, Options{Gather: c.gather}
		err := CheckGather("uring", r, o)
		var u *fault.Unsupported
		if errors.As(err, &u) != c.refused || c.refused && (u.Mode != "uring" || u.Op != "gather for 500ns" ||
			fault.Fix(err) == "") {
			t.Errorf("%+v: %v", c, err)
		}
		if f := GatherFigures(r, o); !slices.Equal(f, []Figure{{"gather_us", "us", float64(c.gather) / 1000},
			{"gather_waits", "1", 5}}) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

func TestRingFigures(t *testing.T) {
	for can, flag := range map[bool]float64{true: 1, false: 0} {
		want := []Figure{{"uring_no_iowait", "1", flag}, {"uring_single_issuer", "1", flag},
			{"uring_defer_taskrun", "1", flag},
			{"uring_cq_lost", "1", 3}, {"uring_cq_backlogs", "1", 4}}
		if d := cmp.Diff(want, RingFigures(fakeRing{can})); d != "" {
			t.Errorf("can %v:\n%s", can, d)
		}
	}
}
