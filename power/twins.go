// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"time"
)

// Whether two energy counters are one is decided by what they grow by, over time: two
// readings of one counter, taken a moment apart, differ a little, and two counters under
// like load agree for a while.
const (
	// twinLag is how far apart in time two looks at one counter may be beyond what our
	// own readings say: each is renewed once in a millisecond.
	twinLag = 4 * time.Millisecond

	// twinApart is a difference that no lag explains, uJ: what the most that a zone can
	// draw is in two milliseconds, one at each end.
	twinApart = raplMostWatts * 2 * 1000

	// twinLong is how long two counters that began at different values must have grown
	// alike before they are one: then they agree to 4 ms in a minute, 0.007 %.
	twinLong = time.Minute

	// twinOften is how many times in ten two looks must agree to within twinLag: power
	// that jumps just between them makes the others.
	twinOften = 9
)

// twins are two counters that would be added.
type twins struct {
	a, b int  // zones
	kin  bool // they are of one socket: nothing says whether they are one or two

	state  twinState
	began  bool
	lo, hi int64 // of a, when it began: just before and after b was read
	of     int64 // of b
	fromNs int64
	moved  int64 // where a was when it was last seen to have moved
	looks  int   // in which a had moved
	alike  int   // of them, how often the two had grown by the same
	equal  int   // and how often they had the same value
	gap    int64 // by how much the growth of b is beyond that of a, last time
	grew   int64 // of a
	overNs int64
}

type twinState int

// What is known of twins.
const (
	twinsUnknown twinState = iota
	twinsOne               // one counter, seen twice
	twinsTwo
)

// look takes one look at both: a just before and just after b was read, as totals since
// the source was opened, and their values as the kernel gave them.
func (t *twins) look(lo, hi, b, valueLo, valueHi, valueB, ns int64) {
	if t.state == twinsTwo {
		return
	}
	if !t.began {
		*t = twins{a: t.a, b: t.b, kin: t.kin, state: t.state, began: true, lo: lo, hi: hi, of: b, fromNs: ns,
			moved: lo}
		return
	}
	least, most := lo-t.hi, hi-t.lo
	grew := b - t.of
	t.grew, t.overNs, t.gap = most, ns-t.fromNs, max(least-grew, grew-most, 0)
	if t.gap > twinApart {
		t.state = twinsTwo
		return
	}
	slack := int64(float64(most) * float64(twinLag) / float64(max(t.overNs, 1)))
	if lo-t.moved <= slack {
		return // nothing to compare
	}
	t.moved = lo
	t.looks++
	if t.gap <= slack {
		t.alike++
	}
	if valueLo-slack <= valueB && valueB <= valueHi+slack {
		t.equal++
	}
	if t.one() {
		t.state = twinsOne
	}
}

// one decides that both are one counter: they have the same value again and again while
// they move, or began apart and have grown alike for so long that no two could.
func (t *twins) one() bool {
	often := func(n int) bool { return 10*n >= twinOften*t.looks }
	enough := 2
	if t.kin {
		enough = 1
	}
	return t.equal >= enough && often(t.equal) || t.overNs >= int64(twinLong) && t.looks >= 10 &&
		often(t.alike) && t.gap*10_000 <= t.grew
}

// again forgets what was seen: a counter was set back.
func (t *twins) again() { t.began = false }

// unknown explains what is not known yet of counters of one socket.
func (t *twins) unknown(a, b string) string {
	seen := "they have not moved since"
	if t.grew > 0 {
		seen = fmt.Sprintf("in %s they have grown by %.3f J, to within %.3f J", seconds(t.overNs),
			float64(t.grew)/1e6, float64(max(t.gap, 1))/1e6)
	}
	return fmt.Sprintf("%s and %s are of one socket, and may be one counter or two: %s", a, b, seen)
}
