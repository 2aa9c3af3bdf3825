// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"maps"
	"slices"
)

// Add does what [Lease.Apply] does for a lease that several users have in turn: what is set already
// stays, and what is to have another value than the lease has given it gets that at once, and will
// be restored to what was found first. When one fails, all is as it was before the call.
func (l *Lease) Add(wants ...Want) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.start(); err != nil {
		return err
	}
	fresh, reset, err := l.missing(wants)
	if err != nil {
		return err
	}
	first := len(l.journal.Steps)
	if len(fresh) > 0 {
		if err := l.apply(fresh); err != nil {
			return err
		}
	}
	if err := l.reset(reset); err != nil {
		return errors.Join(err, l.undo(func(i int) bool { return i >= first }, true))
	}
	return nil
}

// missing finds what of the wants is not set: by steps to be made, and by those to be set to
// something else. What somebody else has changed is no longer ours to change.
func (l *Lease) missing(wants []Want) (fresh []Want, reset map[int]string, err error) {
	steps, err := l.locate(wants)
	if err != nil {
		return nil, nil, err
	}
	reset = map[int]string{}
	for _, w := range steps {
		which := l.standing()
		at := slices.IndexFunc(which, func(i int) bool { return l.journal.Steps[i].same(w) })
		if at < 0 {
			fresh = append(fresh, Want{w.Dev, w.Name, w.Set})
			continue
		}
		s := l.journal.Steps[which[at]]
		set, err := l.setting(which[at])
		if err != nil {
			return nil, nil, err
		}
		now, err := set.Get()
		reads := set.Reads(s.Set, now)
		switch {
		case err != nil:
			return nil, nil, err
		case s.Set == w.Set && !reads: // to be set again
			fresh = append(fresh, Want{w.Dev, w.Name, w.Set})
		case s.Set != w.Set && !reads:
			return nil, nil, &Moved{s.String(), s.Set, now}
		case s.Set != w.Set:
			reset[which[at]] = w.Set
		}
	}
	return fresh, reset, nil
}

// reset sets steps to something else, or leaves them as they were set.
func (l *Lease) reset(to map[int]string) error {
	if err := l.rewrite(to); err != nil {
		return err
	}
	which := slices.Sorted(maps.Keys(to))
	err := l.set(which)
	before := map[int]string{}
	for _, i := range which {
		before[i] = l.journal.Steps[i].was
	}
	if err != nil {
		err = errors.Join(err, l.rewrite(before), l.set(which))
	}
	for _, i := range which {
		l.journal.Steps[i].was = ""
	}
	return err
}

// Withdraw restores some of what the lease has set, and leaves the rest. Of what is not set
// nothing is done.
func (l *Lease) Withdraw(wants ...Want) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || len(wants) == 0 {
		return nil
	}
	return l.undo(func(i int) bool {
		s := l.journal.Steps[i]
		return !s.Keep && slices.Contains(wants, Want{s.Dev, s.Name, s.Set})
	}, false)
}
