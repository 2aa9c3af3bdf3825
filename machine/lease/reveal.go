// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
)

// Some drivers show zeros in the place of the RSS table while rx-hashing is off (see
// [nic.Device.Table]). Restored, the zeros would be the table. So who sets the table, or what it
// may change with, has rx-hashing on meanwhile: it is the first step, and the last to be undone.

const hashing = "feature " + nic.FeatureRXHash

// needsTable reports whether the RSS table must be known before a setting is set.
func needsTable(name string) bool { return name == "rss" || restarts(name) }

// withTables adds rx-hashing to steps that need to know a table that is hidden, or was until this
// lease turned rx-hashing on. Who wants rx-hashing one way or the other has the last word, also
// who said so before.
func (l *Lease) withTables(steps []step) ([]step, error) {
	out := slices.Clone(steps)
	for _, s := range steps {
		if s.Dev == "" || !needsTable(s.Name) {
			continue
		}
		show, err := l.where.step(s.Dev, hashing)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, show.same) {
			continue
		}
		standing := l.standing()
		at := slices.IndexFunc(standing, func(i int) bool { return l.journal.Steps[i].same(show) })
		if at < 0 || l.journal.Steps[standing[at]].Set != "on" {
			switch hidden, err := l.where.tableHidden(s); {
			case err != nil:
				return nil, err
			case !hidden:
				continue
			}
		}
		if l.wantedOff(show) {
			return nil, wantsOff(s.Dev)
		}
		show.Set = "on"
		out = append(out, show)
	}
	return out, nil
}

// wantedOff reports whether rx-hashing is off because this lease, or another of this process, was
// to set it so.
func (l *Lease) wantedOff(show step) bool {
	show.Before = "off"
	return live.asked(l, show) || slices.ContainsFunc(l.standing(), func(i int) bool {
		return l.journal.Steps[i].same(show) && l.journal.Steps[i].Set == show.Before
	})
}

// wantsOff explains why the RSS table of an interface cannot be changed then.
func wantsOff(dev string) error {
	return &fault.Error{Op: "change the RSS table of " + dev + ": " + hashing + "=off was requested",
		Err: nic.ErrTableHidden,
		How: `leave out "` + hashing + `=off": the table can be read and put back only while it is on`}
}

// unhide turns rx-hashing on, for a table that does not show.
func (l *Lease) unhide(dev string) error {
	l.mu.Lock()
	show, err := l.where.step(dev, hashing)
	off := err == nil && l.wantedOff(show)
	l.mu.Unlock()
	switch {
	case err != nil:
		return err
	case off:
		return wantsOff(dev)
	}
	return l.Add(Want{dev, hashing, "on"})
}

// tableHidden reports whether the RSS table of a step's interface does not show. Its error is one
// that may pass: who goes on without knowing may lose the table.
func (p *places) tableHidden(s step) (bool, error) {
	s.Name = "rss"
	set, err := p.setting(s)
	if err == nil {
		_, err = patientGet(set)
	}
	hidden := errors.Is(err, nic.ErrTableHidden)
	if !hidden && passing(err) {
		return false, err
	}
	return hidden, nil
}

// reveal turns rx-hashing on before the steps that need to know the table are planned, and
// returns what is left to be set.
func (l *Lease) reveal(steps []step) (rest []step, err error) {
	var first []step
	for _, s := range steps {
		if s.Name == hashing && slices.ContainsFunc(steps, func(o step) bool {
			return o.Dev == s.Dev &&
				needsTable(o.Name)
		}) {
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	if len(first) == 0 {
		return steps, nil
	}
	from := len(l.journal.Steps)
	if first, err = l.plan(first); err == nil {
		err = l.record(first)
	}
	if err == nil {
		err = l.set(numbers(from, len(l.journal.Steps)))
	}
	return rest, err
}

// reveals selects those of the steps that turned rx-hashing on for a table that is to be restored.
func (u *undoing) reveals(which []int) (out []int) {
	for _, i := range which {
		s := u.journal.Steps[i]
		if s.Name == hashing && s.Set == "on" && s.Before != s.Set && len(u.tables(s, which)) > 0 {
			out = append(out, i)
		}
	}
	return out
}

// tables selects the steps of the RSS table of the interface of s.
func (u *undoing) tables(s step, which []int) []int {
	return slices.DeleteFunc(slices.Clone(which), func(i int) bool {
		return u.journal.Steps[i].Dev != s.Dev || u.journal.Steps[i].Name != "rss"
	})
}

// show turns rx-hashing on again where it is off before the table is restored: an undoer that was
// killed may have turned it off, and not have written so. What cannot be turned on is told by who
// then reads the table.
func (u *undoing) show(shows []int) {
	for _, i := range shows {
		s := u.journal.Steps[i]
		set, err := u.where.setting(s)
		if err != nil || u.dry {
			continue
		}
		if hidden, _ := u.where.tableHidden(s); hidden { // an error is met again by who reads the table
			_ = set.Set(s.Set)
		}
	}
}

// hide undoes rx-hashing, when the tables are restored. Where one is not, it stays on, and is owed
// with the table: this could not be restored with rx-hashing off.
func (u *undoing) hide(shows, which []int, reports map[int]*StepReport) {
	for _, i := range slices.Backward(shows) {
		s := u.journal.Steps[i]
		r := u.look(i)
		reports[i] = r
		for _, t := range u.tables(s, which) {
			if table := reports[t]; u.dry && errors.Is(table.cause, nic.ErrTableHidden) {
				*table = StepReport{Dev: table.Dev, Setting: table.Setting, Before: table.Before, Set: table.Set,
					Now: "hidden", Result: Would}
			}
			if reports[t].Result == failure && (r.Result == already || r.Result == restored) {
				r.fail(&fault.Error{Op: "it stays on until the RSS table of " + s.Dev + " is restored",
					How: reports[t].Fix})
			}
		}
		u.back(i, r)
	}
}
