// SPDX-License-Identifier: MIT

package lease

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Moved is a setting of a lease that somebody else has changed.
type Moved struct{ What, Set, Now string }

func (e *Moved) Error() string {
	return fmt.Sprintf("%s was set to %s but is now %s: something else has changed it", e.What, short(e.Set),
		short(e.Now))
}

// Verify reads again what was set. The first that is no longer so is a *[Moved].
func (l *Lease) Verify() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.verify(func(step, string) bool { return false })
	return err
}

// standing lists the steps that are set, in the order of dependency.
func (l *Lease) standing() []int {
	which := slices.DeleteFunc(l.journal.owed(false), func(i int) bool { return l.journal.Steps[i].Keep })
	slices.SortStableFunc(which, func(a, b int) int { return inOrder(l.journal.Steps[a], l.journal.Steps[b]) })
	return which
}

// verify reports whether something is not as it was set that may be so.
func (l *Lease) verify(may func(s step, now string) bool) (lost bool, err error) {
	for _, i := range l.standing() {
		s := l.journal.Steps[i]
		set, err := l.setting(i)
		if err != nil {
			return lost, err
		}
		now, err := set.Get()
		switch {
		case err != nil:
			return lost, err
		case set.Reads(s.Set, now):
		case may(s, now):
			lost = true
		default:
			return lost, &Moved{s.String(), s.Set, now}
		}
	}
	return lost, nil
}

// forgotten reports whether a setting of a queue is as it was found: some drivers
// forget it when the queue restarts, as it does for a path that takes it over.
func forgotten(s step, now string) bool { return now == s.Before && ofQueue(s.Name) }

// Become brings the lease to what is wanted and nothing else, by as few changes as
// that takes: what is set already stays, what has another value now gets it at
// once, what is no longer wanted is restored. Before that it reads everything
// again; where somebody else has changed something, all is restored and nothing
// set; what a restart of a queue took is set again. When one fails, what was set before and is
// still wanted stays, and the rest is as found; the error is as of Apply.
func (l *Lease) Become(wants ...Want) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.start(); err != nil {
		return err
	}
	lost, err := l.verify(forgotten)
	if err != nil {
		return cmp.Or(l.undoAll(), err)
	}
	steps, err := l.locate(wants)
	if err != nil {
		return err
	}
	d := l.differ(steps)
	switch {
	case len(d.names(l.journal.Steps)) == 0 && !lost:
		return nil
	case d.restarts(l.journal.Steps):
		if err := l.undoAll(); err != nil {
			return err
		}
		return l.apply(wants)
	}
	return l.move(d)
}

// difference is what to do to get from a lease to what is wanted.
type difference struct {
	drop  []int          // steps to be restored
	reset map[int]string // steps to be set to something else
	add   []step         // to be set anew
}

// differ compares what is set with what is wanted. What depends on something that
// changes is restored before and set again after it.
func (l *Lease) differ(wanted []step) difference {
	d := difference{reset: map[int]string{}}
	standing := l.standing()
	stay := map[int]step{}
	for _, w := range wanted {
		at := slices.IndexFunc(standing, func(i int) bool { return l.journal.Steps[i].same(w) })
		switch {
		case at < 0:
			d.add = append(d.add, w)
		case l.journal.Steps[standing[at]].Set != w.Set:
			d.reset[standing[at]] = w.Set
		}
		if at >= 0 {
			stay[standing[at]] = w
		}
	}
	for _, i := range standing {
		if _, ok := stay[i]; !ok {
			d.drop = append(d.drop, i)
		}
	}
	changes := d.names(l.journal.Steps)
	for i, w := range stay {
		if slices.ContainsFunc(changes, func(c step) bool { return c.Dev == w.Dev && dependsOn(w.Name, c.Name) }) {
			d.drop, d.add = append(d.drop, i), append(d.add, w)
			delete(d.reset, i)
		}
	}
	slices.Sort(d.drop)
	return d
}

// names collects the steps that change.
func (d difference) names(all []step) []step {
	out := slices.Clone(d.add)
	for _, i := range d.drop {
		out = append(out, all[i])
	}
	for i := range d.reset {
		out = append(out, all[i])
	}
	return out
}

// restarts reports whether queues are restarted by what changes.
func (d difference) restarts(all []step) bool {
	return slices.ContainsFunc(d.names(all), func(s step) bool { return restarts(s.Name) })
}

// move makes a difference.
func (l *Lease) move(d difference) error {
	if len(d.drop) > 0 {
		if err := l.undo(func(i int) bool { return slices.Contains(d.drop, i) }, false); err != nil {
			return err
		}
	}
	first := len(l.journal.Steps)
	add, err := l.reveal(d.add)
	if err == nil {
		add, err = l.plan(add)
	}
	if err == nil && len(add) > 0 {
		err = l.record(add)
	}
	if err != nil {
		return errors.Join(err, l.undoFrom(first))
	}
	if err = errors.Join(l.rewrite(d.reset), l.unsettle()); err == nil {
		err = l.set(l.standing())
	}
	if err == nil {
		l.renew()
		for i := range d.reset {
			l.journal.Steps[i].was = ""
		}
		return l.keepAfter()
	}
	return errors.Join(err, l.back(first, d.reset))
}

// rewrite notes what steps are about to be set to.
func (l *Lease) rewrite(reset map[int]string) error {
	if len(reset) == 0 {
		return nil
	}
	if err := l.file.write(line{Reset: reset}); err != nil {
		return fmt.Errorf("write the journal of a lease: %w: nothing was changed", err)
	}
	for i, v := range reset {
		l.journal.Steps[i].reset(v)
	}
	return nil
}

// back takes a difference back that failed: what is new is restored, and what was
// to have another value is as before that.
func (l *Lease) back(first int, reset map[int]string) error {
	err := l.undo(func(i int) bool { return i >= first }, true)
	before := map[int]string{}
	for i := range reset {
		if s := l.journal.Steps[i]; s.was != "" {
			before[i] = s.was
		}
	}
	return errors.Join(err, l.rewrite(before), l.set(l.standing()))
}

// dependsOn reports whether setting a is only right after b, of the same
// interface, has its value. Restarts of queues are not in question here.
func dependsOn(a, b string) bool {
	word, _, _ := strings.Cut(b, " ")
	return a == "header-split" && (word == "feature" || word == "mtu")
}
