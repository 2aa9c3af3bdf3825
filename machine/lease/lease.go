// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
	"github.com/zcbench/zcbench/machine/tune"
)

// Want is a setting with the value that it is to have.
type Want struct {
	Dev   string // interface; "": of the host
	Name  string // as [nic.Device.Setting] or [tune.FS.Setting] knows it
	Value string
}

// Options of a lease; zero values are good.
type Options struct {
	Dir     string // of journals and locks; "": [Dir]
	Session string // what others are told of this lease; "": that of [ServeSession]

	// Bind: queues will get foreign memory, for which the kernel wants header split to have been
	// asked for, also where it reads on (netif_mp_open_rxq of netdev_rx_queue.c, Linux 7.2).
	Bind bool
}

// served is the session that this process works for.
var served struct {
	sync.Mutex
	session, controller string
}

// ServeSession sets for which session the leases are that this process begins from now on, and the
// command line of who runs it, of which it keeps only what is harmless: it will stand in journals,
// locks and the reasons of other runs.
func ServeSession(session, controller string) {
	served.Lock()
	defer served.Unlock()
	served.session, served.controller = cmdline.Printable(session), cmdline.Clean(controller)
}

// Lease is a set of settings that will be restored. Its methods are safe for
// concurrent use.
type Lease struct {
	opt Options

	mu      sync.Mutex
	owner   Owner
	file    *file // nil until something is to be changed
	journal journal
	where   places
	release map[string]func() // of the locks
}

// New makes a lease of nothing.
func New(o Options) *Lease {
	return &Lease{opt: o, where: *newPlaces(), release: map[string]func(){}}
}

// Use lets the lease reach an interface through d, which must stay open until
// Restore.
func (l *Lease) Use(d *nic.Device) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.where.lend(d)
}

// Apply sets what is wanted, in the order of dependency, and reads everything
// back. Interfaces and sysctls are those of the calling thread's network
// namespace. When one fails, everything of this call is restored, and the error
// says which and why: *[Busy], *[setting.Reverted], *[fault.Error] or *[fault.Error].
func (l *Lease) Apply(wants ...Want) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.start(); err != nil {
		return err
	}
	return l.apply(wants)
}

func (l *Lease) apply(wants []Want) error {
	steps, err := l.locate(wants)
	if err != nil || len(steps) == 0 {
		return err
	}
	first := len(l.journal.Steps)
	if steps, err = l.reveal(steps); err == nil {
		steps, err = l.plan(steps)
	}
	if err == nil && len(steps) == 0 && len(l.journal.Steps) == first {
		return nil
	}
	if err == nil {
		err = l.record(steps)
	}
	if err != nil {
		return errors.Join(err, l.undoFrom(first))
	}
	if err = l.unsettle(); err == nil {
		err = l.set(numbers(first, len(l.journal.Steps)))
	}
	if err == nil {
		err = l.uncut(first)
	}
	if err != nil {
		// Restore knows more of what went wrong only if it fails too.
		return errors.Join(err, l.undoFrom(first))
	}
	l.renew()
	return l.keepAfter()
}

// undoFrom restores the steps of a call that failed, which begin at first.
func (l *Lease) undoFrom(first int) error {
	if len(l.journal.Steps) == first {
		return nil
	}
	return l.undo(func(i int) bool { return i >= first }, true)
}

// numbers lists those from first up to end.
func numbers(first, end int) (out []int) {
	for i := first; i < end; i++ {
		out = append(out, i)
	}
	return out
}

// Start prepares the folder of journals and works off what dead processes left.
// Apply does it too, but what is wanted may depend on what is there.
func (l *Lease) Start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start()
}

// start identifies this process, and works off what dead processes left: it would be taken for the
// state to restore.
func (l *Lease) start() (err error) {
	if l.owner.PID != 0 {
		return nil
	}
	if l.opt.Dir == "" {
		l.opt.Dir, err = Dir()
	} else {
		err = prepare(l.opt.Dir)
	}
	if err != nil {
		return err
	}
	if l.journal.BootID, err = bootID(); err != nil {
		return err
	}
	if _, err := Finish(FinishOptions{Dir: l.opt.Dir}); err != nil {
		return err
	}
	l.owner = self(l.opt.Session)
	return nil
}

// locate finds where what is wanted is set, each once, with the values as they will read back, and
// locks it. It first refuses a value that no host could have.
func (l *Lease) locate(wants []Want) (steps []step, err error) {
	for _, w := range wants {
		s, err := l.where.step(w.Dev, w.Name)
		if err != nil {
			return nil, err
		}
		set, err := l.where.setting(s)
		if err != nil {
			return nil, err
		}
		if s.Set, err = set.Canonical(w.Value); err != nil {
			return nil, err
		}
		if err := l.lock(s.scope()); err != nil {
			return nil, err
		}
		if s.Set, err = set.Whole(s.Set, l.found(s, set)); err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(steps, s.same); at >= 0 {
			steps[at] = s // the last one counts
			continue
		}
		steps = append(steps, s)
	}
	return l.withTables(steps)
}

// found reads how a setting was before this lease set it.
func (l *Lease) found(s step, set setting.Setting) func() (string, error) {
	for _, i := range l.journal.owed(false) {
		if was := l.journal.Steps[i]; was.same(s) {
			return func() (string, error) { return was.Before, nil }
		}
	}
	return set.Get
}

// plan finds out how what the steps are to set is now.
func (l *Lease) plan(steps []step) ([]step, error) {
	for i := range steps {
		if err := l.find(&steps[i]); err != nil {
			return nil, err
		}
	}
	steps = slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return l.enough(s, steps) })
	slices.SortStableFunc(steps, inOrder)
	keeps, err := l.keeps(steps)
	return append(keeps, steps...), err
}

// enough reports whether a step, of those that are to be set, changes nothing for this lease: each
// setting of the rings resets all queues of many drivers.
func (l *Lease) enough(s step, steps []step) bool {
	if l.opt.Bind || s.Before != s.Set {
		return false
	}
	set, err := l.where.setting(s)
	if err != nil || set.Enough == nil || !set.Enough(s.Set) {
		return false
	}
	return !slices.ContainsFunc(steps, func(o step) bool {
		return o.Dev == s.Dev && o.Before != o.Set && (restarts(o.Name) || dependsOn(s.Name, o.Name))
	})
}

// find reads what a setting is before it is set.
func (l *Lease) find(s *step) error {
	set, err := l.where.setting(*s)
	if err == nil {
		s.Before, err = patientGet(set)
	}
	return err
}

// setting reaches the setting of a step of the lease.
func (l *Lease) setting(i int) (setting.Setting, error) {
	return l.journal.setting(&l.where, l.file, i)
}

func (l *Lease) lock(s scope) error {
	if l.release[s.file] != nil {
		return nil
	}
	release, err := lock(l.opt.Dir, s, l.owner)
	if err == nil {
		l.release[s.file] = release
	}
	return err
}

// keeps reads the settings that the steps may change as a side effect.
func (l *Lease) keeps(steps []step) (out []step, err error) {
	var has []step
	for _, i := range l.journal.owed(false) { // what the lease has found, it restores
		has = append(has, l.journal.Steps[i])
	}
	keep := func(s step, names ...string) {
		for _, name := range names {
			k := s
			k.Name, k.Set, k.Keep = name, "", true
			if err != nil || slices.ContainsFunc(slices.Concat(steps, out, has), k.same) {
				continue
			}
			switch ferr := l.find(&k); {
			case ferr == nil:
				out = append(out, k)
			case s.Name == hashing && errors.Is(ferr, nic.ErrTableHidden): // it is to be read next
			case passing(ferr): // it could be read at another time, and is not to be lost
				err = ferr
			} // what cannot be read cannot be kept
		}
	}
	for _, s := range steps {
		if restarts(s.Name) && s.Before != s.Set {
			keep(s, l.where.queueSettings(s)...)
		}
		if shrinks(s.Name) {
			keep(s, ringRX)
		}
		keep(s, l.where.forgotten(s)...)
	}
	return out, err
}

// record writes the steps down, and makes them the last ones of the lease.
func (l *Lease) record(steps []step) (err error) {
	if l.file == nil {
		if l.file, err = create(l.opt.Dir, line{Kind: journalKind, Version: Version, Tool: version.Tool(),
			BootID: l.journal.BootID, Owner: &l.owner}); err != nil {
			return err
		}
		live.add(l)
	}
	if err := l.file.write(line{Steps: steps}); err != nil {
		return fmt.Errorf("write the journal of a lease: %w: nothing was changed", err)
	}
	for _, s := range steps {
		s.fresh = true
		l.journal.Steps = append(l.journal.Steps, s)
	}
	return nil
}

// set sets steps in order, and looks at all of them again at the end: a later one
// may have changed an earlier.
func (l *Lease) set(which []int) error {
	for range 2 {
		for _, i := range which {
			s := l.journal.Steps[i]
			if s.Keep {
				continue
			}
			if err := l.setOne(i, s); err != nil {
				return err
			}
			if disturbs(s.Name) {
				if err := l.where.awaitCarrier(s.Dev); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// setOne sets a step. One that turns out, when it is set for the first time, to have been
// asked for before by somebody else owes nothing.
func (l *Lease) setOne(i int, s step) error {
	l.journal.Steps[i].fresh = false
	set, err := l.setting(i)
	if err != nil {
		return err
	}
	if set.Ask == nil {
		return setting.Apply(set, s.where(), s.Set)
	}
	changed, err := setting.Ask(set, s.where(), s.Set)
	if err != nil || changed || !s.fresh || s.state != "" || s.was != "" {
		return err
	}
	l.journal.Steps[i].state = undone
	return l.file.write(line{Undone: []int{i}})
}

// unsettle notes that what is to be kept may from now on read anything, until [Lease.keepAfter]:
// what is about to be set may disturb it. What somebody else has set stays theirs.
func (l *Lease) unsettle() error {
	n := line{Became: map[int]string{}}
	for i := range l.journal.Steps {
		s := &l.journal.Steps[i]
		if !s.Keep || s.state != "" || s.became == "" {
			continue
		}
		set, err := l.where.setting(*s)
		if err != nil {
			continue
		}
		switch now, err := patientGet(set); {
		case err == nil && (now == s.became || now == s.Before):
			s.became, n.Became[i] = "", ""
		case passing(err): // whose it is must be known before it changes
			return err
		}
	}
	if len(n.Became) == 0 {
		return nil
	}
	return l.file.write(n)
}

// keepAfter notes what became of what is to be kept, so that a later change of
// somebody else can be told from ours.
func (l *Lease) keepAfter() error {
	became := map[int]string{}
	for i := range l.journal.Steps {
		s := &l.journal.Steps[i]
		if !s.Keep || s.state != "" || s.became != "" {
			continue
		}
		set, err := l.where.setting(*s)
		if err != nil {
			continue
		}
		switch now, err := patientGet(set); {
		case err == nil:
			s.became, became[i] = now, now
		case passing(err): // for all of them: what they become may be anything
			return l.writeBecame(became)
		}
	}
	return l.writeBecame(became)
}

func (l *Lease) writeBecame(became map[int]string) error {
	if len(became) == 0 {
		return nil
	}
	return l.file.write(line{Became: became})
}

// Changes words what was changed, in order.
func (l *Lease) Changes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, i := range l.journal.owed(false) {
		if s := l.journal.Steps[i]; !s.Keep && s.Set != s.Before {
			out = append(out, fmt.Sprintf("%v: %s was %s", s, short(s.Set), short(s.Before)))
		}
	}
	return out
}

// short shortens a value to what people want to read: tables can have 1024 entries.
func short(v string) string {
	v = cmdline.Printable(v)
	const most = 60
	if len(v) <= most {
		return v
	}
	return v[:most] + "..."
}

// Restore puts everything back, the last change first, and goes on after a
// failure. What somebody else changed meanwhile is left, and is an error that says
// so. Restoring again does nothing.
func (l *Lease) Restore() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	errs := []error{l.undoAll()}
	for _, release := range l.release {
		release()
	}
	clear(l.release)
	errs = append(errs, l.where.close())
	return errors.Join(errs...)
}

// undoAll restores everything and ends the journal: the next change begins another
// one. One that owes nothing is removed.
func (l *Lease) undoAll() error {
	if l.file == nil {
		return nil
	}
	errs := []error{l.undo(func(int) bool { return true }, false)}
	if len(l.journal.owed(true)) == 0 {
		errs = append(errs, l.file.remove())
	} else {
		errs = append(errs, l.file.f.Close())
	}
	l.file, l.journal.Steps = nil, nil
	live.remove(l)
	return errors.Join(errs...)
}

// undo restores those of the steps that are chosen. Its error says what was not
// restored. ours: what reads neither as before nor as set is our own failed
// attempt.
func (l *Lease) undo(chosen func(int) bool, ours bool) error {
	u := undoing{journal: &l.journal, file: l.file, where: &l.where, force: ours}
	var errs []error
	for _, r := range u.run(func(i int) bool { return l.journal.Steps[i].state == "" && chosen(i) }) {
		errs = append(errs, r.err())
	}
	return errors.Join(errs...)
}

// tuneFS is the host whose settings are set; tests put fixtures there.
var tuneFS tune.FS
