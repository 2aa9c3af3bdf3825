// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results/race"
)

// What is assumed of a search.
const (
	// changes is about how long it takes to set a host for another group; races learn how long it
	// is.
	changes = 300 * time.Millisecond
	// blocksOfAll is how many blocks of all settings a race's time is to last for: after the first,
	// at most half of them go on.
	blocksOfAll = 2.5
	// mostSettings is how many settings of a mode race at most.
	mostSettings = 128
	// How many cells are open at once: each has its memory, of the NIC and of the application, and
	// those that take queues over have these, too.
	mostTogether, mostTakers = 8, 4
	// turnsTried are how many turns a level has when it is tried for the first time, turnsRaced how
	// many in a start of a race.
	turnsTried, turnsRaced = 6, 8
)

// entry is a mode in the search.
type entry struct {
	Space
	together int
	most     int     // settings that are to race
	seconds  float64 // that its race may take
	field    race.Field
	race     *race.Race            // nil: it cannot run
	fails    []int                 // of each arm
	value    float64               // of the defaults, when they were tried, Gbit/s
	gone     map[plan.CellKey]bool // what could not run when it was tried
}

// ending is when a start ended: in which session, on the clock of which. 0: not known.
type ending struct {
	session string
	utcNs   int64
}

// start is what is played at once.
type start struct {
	entry *entry
	runs  []matrix.Run
	trial [][]int    // arms that are tried
	race  race.Start // that it is of
}

// Search looks for the best settings of each mode. It is asked for starts ([bench.Asker]), and told
// what they showed; told the same again, from a journal, it goes the same way.
type Search struct {
	goal  Goal
	spec  *matrix.Spec // what the user says
	plan  *matrix.Spec // of the search
	usual bool         // no file names factors
	time  time.Duration
	note  func(format string, args ...any)

	found   *bench.Found
	entries []*entry
	queue   []start // of what is tried
	now     *start
	at      int // which entry's block runs
	block   int
	groups  map[string]int
	starts  int
	tries   int     // of the start that is played, which something else disturbed
	last    ending  // of the start before
	lost    float64 // seconds that something else spoilt before there were races
	pace    int     // bits per second

	begun, said time.Time // when this session began, and last said how far it is
}

// InputError is a plan, or a time, of which no search can be made.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// newSearch prepares a search among the cells of a plan that may take so long.
func newSearch(goal Goal, spec *matrix.Spec, most time.Duration, note func(string, ...any)) (*Search, error) {
	all, own, err := Spaces(spec)
	if err != nil {
		return nil, &InputError{err}
	}
	s := &Search{goal: goal, spec: spec, usual: own, time: most, note: note, groups: map[string]int{}}
	for i := range all {
		s.entries = append(s.entries, &entry{Space: all[i]})
	}
	return s, nil
}

// Begin finds out what these hosts can set, and plans to try each level once.
func (s *Search) Begin(h *bench.Found) error {
	s.found = h
	splits := slices.ContainsFunc(s.entries, func(e *entry) bool { return e.Base.SplitsItself() })
	for _, e := range s.entries {
		e.prepare(h, splits)
	}
	if s.usual {
		var all []Space
		for _, e := range s.entries {
			all = append(all, e.Space)
		}
		for i, x := range Usual(all, s.spec, h) {
			s.entries[i].Space = x
		}
	} else {
		for _, e := range s.entries {
			e.refuse(h)
		}
	}
	for _, e := range s.entries {
		if e.out() {
			continue
		}
		e.together = e.fit(h)
		s.try(e)
	}
	if s.running() == 0 {
		return s.nothing()
	}
	return s.share()
}

// out reports whether the mode cannot run.
func (e *entry) out() bool {
	return slices.ContainsFunc(e.Cannot, func(c Cannot) bool { return c.What == "" })
}

func (s *Search) running() (n int) {
	for _, e := range s.entries {
		if !e.out() {
			n++
		}
	}
	return n
}

// nothing is the error where no mode can run.
func (s *Search) nothing() error {
	for _, e := range s.entries {
		for _, c := range e.Cannot {
			if c.What == "" {
				return &fault.Error{Op: "no mode can run here, " + c.Mode + " because: " + c.Reason, How: c.Fix}
			}
		}
	}
	return errors.New("there is no mode")
}

// fit returns how many cells of the mode can be open at once.
func (e *entry) fit(h *bench.Found) int {
	if !e.Base.TakesQueues() {
		return mostTogether
	}
	for n := mostTakers; n > 1; n-- {
		var cells []plan.Cell
		for i := range n {
			c := e.Base
			c.ID = fmt.Sprint(i)
			cells = append(cells, c)
		}
		if h.Parts(cells) == 1 {
			return n
		}
	}
	return 1
}

// cell makes the cell of an arm, at the pace that all have.
func (s *Search) cell(e *entry, arm []int) plan.Cell {
	c := e.cell(arm)
	if s.pace > 0 {
		c.PaceBitsPS = s.pace
	}
	if c.CheckTurns() != nil || s.plan.TurnLength() == 0 {
		c.Turn = plan.NoTurns
	}
	return c
}

// group numbers what cells have in common that can be open together.
func (s *Search) group(e *entry, c *plan.Cell) int {
	words := []string{e.Name, c.Turn}
	for i := range plan.Options {
		if o := &plan.Options[i]; o.Apart() {
			words = append(words, o.Raw(c))
		}
	}
	key := strings.Join(words, "\x00")
	if s.groups[key] == 0 {
		s.groups[key] = len(s.groups) + 1
	}
	return s.groups[key]
}

// runs makes the runs of arms of a group.
func (s *Search) runs(e *entry, arms [][]int, trial bool) (runs []matrix.Run) {
	for _, arm := range arms {
		c := s.cell(e, arm)
		r := matrix.Run{Cell: c, Group: s.group(e, &c), Warmup: trial}
		if c.Alone() {
			r.Group = 0
		}
		runs = append(runs, r)
	}
	return runs
}

// took returns how long starts take.
func (s *Search) took(starts []start) (d time.Duration) {
	group := 0
	for _, x := range starts {
		for left := x.runs; len(left) > 0; left = left[len(matrix.Start(left)):] {
			d += s.found.Length(matrix.Start(left))
		}
		if g := s.group(x.entry, &x.runs[0].Cell); g != group {
			group = g
			d += changes
		}
	}
	return d
}

// share gives each mode the same time, and so many settings as that is enough for.
func (s *Search) share() error {
	tries := s.took(s.queue)
	_, confirm, _ := s.confirmed(2 * s.running())
	each := (s.time - tries - confirm) / time.Duration(s.running())
	for _, e := range s.entries {
		if e.out() {
			continue
		}
		b := s.budget(e, each)
		e.seconds = b.Seconds
		share := (b.Start + b.Change) / float64(min(ofGroup, e.together))
		e.most = min(mostSettings, int(b.Seconds/blocksOfAll/(b.Arm+share)))
		for ; e.most >= 2; e.most = e.most * 9 / 10 {
			f := e.Space.field(e.most, s.spec.Seed, s.can(e))
			if b.Least(&f) <= b.Seconds && (e.most < 4 || blocksOfAll*b.Factorial(&f, 1) <= b.Seconds) {
				break
			}
		}
		if e.most < 2 {
			least := 2*blocksOfAll*(b.Arm+b.Start+b.Change) + 1
			return &InputError{&fault.Error{
				Op: fmt.Sprintf("the time is too short: of %v, %v are for a first try of each level and %v "+
					"for the confirmation, so that each of %d modes has %v, and %s takes %.0f s to try two settings",
					s.time,
					tries.Round(time.Second), confirm.Round(time.Second), s.running(), max(0, each).Round(time.Second),
					e.Name,
					math.Ceil(least)), How: "a longer --for-time, or fewer modes or levels"}}
		}
	}
	return nil
}

// budget is what a mode's race may take.
func (s *Search) budget(e *entry, each time.Duration) race.Budget {
	arm := make([]int, len(e.Factors))
	one := s.runs(e, [][]int{arm}, false)
	two := slices.Concat(one, one)
	b := race.Budget{Seconds: each.Seconds(), Together: e.together}
	if slices.ContainsFunc(e.Factors, func(f Factor) bool { return plan.LookupOption(f.Option).Apart() }) {
		b.Change = changes.Seconds()
	}
	if one[0].Group == 0 {
		b.Arm = s.found.Length(one).Seconds()
		return b
	}
	a := s.found.Length(one)
	b.Arm = (s.found.Length(two) - a).Seconds()
	b.Start = max(0, a.Seconds()-b.Arm)
	return b
}

// can reports whether a cell may run.
func (s *Search) can(e *entry) func(plan.Cell) bool {
	return func(c plan.Cell) bool { return !e.gone[c.Key()] && s.found.Missing(c) == nil }
}

// Next returns the next start: of what is tried, then of the modes' races, block by block.
func (s *Search) Next() ([]matrix.Run, error) {
	if s.tries == 0 {
		s.now = s.next()
	}
	if s.now == nil {
		return nil, nil
	}
	s.sayTime()
	for i := range s.now.runs {
		s.now.runs[i].Rep, s.now.runs[i].Block = s.starts, s.starts
	}
	s.starts++
	return s.now.runs, nil
}

// sayTime says now and then how far the search is: a block may take minutes.
func (s *Search) sayTime() {
	const often = 20 * time.Second
	switch now := time.Now(); {
	case s.begun.IsZero():
		s.begun, s.said = now, now
	case now.Sub(s.said) > often:
		s.said = now
		s.note("%s, start %d of the search, %v so far; all of it takes about %v", s.now.entry.Name, s.starts+1,
			now.Sub(s.begun).Round(time.Second), s.time)
	}
}

// next finds it. In a block each mode has its starts one after another, and who is first changes
// from block to block.
func (s *Search) next() *start {
	if len(s.queue) > 0 {
		return &s.queue[0]
	}
	for n := len(s.entries); ; s.at = 0 {
		for ; s.at < n; s.at++ {
			e := s.entries[(s.at+s.block)%n]
			if r, ok := e.next(); ok && r.Block == s.block {
				var arms [][]int
				for _, a := range r.Arms {
					arms = append(arms, e.field.Arms[a])
				}
				return &start{entry: e, race: r, runs: s.runs(e, arms, false)}
			}
		}
		least := -1
		for _, e := range s.entries {
			if r, ok := e.next(); ok && (least < 0 || r.Block < least) {
				least = r.Block
			}
		}
		if least < 0 {
			return nil
		}
		s.block = least
	}
}

// next returns what the mode's race asks for.
func (e *entry) next() (race.Start, bool) {
	if e.race == nil {
		return race.Start{}, false
	}
	return e.race.Next()
}

// begin begins the races, when all levels were tried.
func (s *Search) begin() error {
	if s.running() == 0 {
		return s.nothing()
	}
	if s.goal.Paced && s.spec.Cells[0].PaceBitsPS == 0 {
		least := math.Inf(1)
		for _, e := range s.entries {
			if !e.out() && e.value > 0 {
				least = min(least, e.value)
			}
		}
		if math.IsInf(least, 1) {
			return errors.New("no mode moved payload at its defaults, so there is no pace at which all could work")
		}
		s.pace = int(least/2*1e3) * 1e6 // of half of it, in Mbit/s
		s.note("all modes work at %.3f Gbit/s, half of what the slowest does at its defaults", float64(s.pace)/1e9)
	}
	tried := 0
	for _, e := range s.entries {
		if e.out() {
			continue
		}
		e.leave()
		tried++
		e.field = e.Space.field(e.most, s.spec.Seed, s.can(e))
		b := s.budget(e, time.Duration(e.seconds*float64(time.Second)))
		var err error
		if e.race, err = race.New(&e.field, b, s.spec.Seed); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		e.fails = make([]int, len(e.field.Arms))
		s.note("%s: %d of %d combinations race for %.0f s%s", e.Name, e.field.First, e.count(), b.Seconds,
			e.waiting(&e.field))
	}
	s.block = 0
	s.last = ending{} // what lies between is no mode's
	s.lose(0)
	return nil
}

// waiting says how many settings wait.
func (e *entry) waiting(f *race.Field) string {
	if n := len(f.Arms) - f.First; n > 0 {
		return fmt.Sprintf(", and %d wait to come in where they may be better", n)
	}
	return ""
}
