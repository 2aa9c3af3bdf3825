// SPDX-License-Identifier: MIT

package lease

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
)

// uncut refuses steps, from first on, by which the RX ring has become shorter than another
// lease of this process has set it, for whoever asked for it: bnxt cuts it without an error
// (see shrinks), and what is measured then is not what was asked for. A ring that nobody
// asked for is cut for the time of the lease.
func (l *Lease) uncut(first int) error {
	for _, s := range l.journal.Steps[first:] {
		if !s.Keep || s.Name != ringRX || !live.asked(l, s) {
			continue
		}
		set, err := l.where.setting(s)
		if err != nil {
			return err
		}
		now, err := set.Get()
		if err != nil || now == s.Before {
			return err
		}
		e := &fault.Error{Op: fmt.Sprintf("set %s of %s: it cuts the %s to %s, but %s was requested", l.shrinker(first),
			s.where(), ringRX, now, s.Before)}
		if set.Why != nil {
			why, fix := set.Why(s.Before, now)
			e.Op, e.How = e.Op+": "+why, fix
		}
		return e
	}
	return nil
}

// shrinker returns the name of the first step, from first on, that may cut the ring.
func (l *Lease) shrinker(first int) string {
	for _, s := range l.journal.Steps[first:] {
		if !s.Keep && shrinks(s.Name) {
			return s.Name
		}
	}
	return "this"
}

// asked reports whether another lease of this process has set s to what it was before s. One
// that is busy looks at what it has set itself.
func (r *registry) asked(except *Lease, s step) bool {
	r.mu.Lock()
	all := slices.Clone(r.all)
	r.mu.Unlock()
	return slices.ContainsFunc(all, func(x *Lease) bool {
		if x == except || !x.mu.TryLock() {
			return false
		}
		defer x.mu.Unlock()
		return slices.ContainsFunc(x.standing(), func(i int) bool {
			return x.journal.Steps[i].same(s) &&
				x.journal.Steps[i].Set == s.Before
		})
	})
}
