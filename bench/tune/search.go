// SPDX-License-Identifier: MIT

package tune

import (
	"cmp"
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
	"github.com/zcbench/zcbench/results"
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
	most     int // settings that are to race
	seconds  float64
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
	tries   int    // of the start that is played, which something else disturbed
	last    ending // of the start before
	pace    int    // bits per second

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

// refuse takes out the cells of a file that the plan refuses on these hosts.
func (e *entry) refuse(h *bench.Found) {
	if m := h.Missing(e.Base); m != nil {
		e.Cannot = append(e.Cannot, Cannot{e.Name, "", m.Reason, m.Fix})
		return
	}
	e.Cells = slices.DeleteFunc(slices.Clone(e.Cells), func(c plan.Cell) bool {
		m := h.Missing(c)
		if m != nil {
			what := strings.TrimPrefix(c.ID, c.RX+"/"+c.TX+" ")
			e.Cannot = append(e.Cannot, Cannot{e.Name, what, m.Reason, m.Fix})
		}
		return m != nil
	})
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

// try plans starts in which each level is tried, apart from others.
func (s *Search) try(e *entry) {
	arms := e.singles()
	if e.Cells != nil { // the levels are those of cells that there are
		arms = e.witnesses()
	}
	byGroup := map[int][][]int{}
	var order []int
	for _, arm := range arms {
		c := s.cell(e, arm)
		g := s.group(e, &c)
		if byGroup[g] == nil {
			order = append(order, g)
		}
		byGroup[g] = append(byGroup[g], arm)
	}
	for _, g := range order {
		for arms := range slices.Chunk(byGroup[g], e.together) {
			s.queue = append(s.queue, start{entry: e, trial: arms, runs: s.runs(e, arms, true)})
		}
	}
}

// witnesses are the arms of a file by which each of its levels is tried: that of the defaults, and
// for each level the cell that has the fewest other levels.
func (x *Space) witnesses() (arms [][]int) {
	all := x.all(0)
	others := func(arm []int) (n int) {
		for _, level := range arm {
			n += min(level, 1)
		}
		return n
	}
	arms = append(arms, make([]int, len(x.Factors)))
	for f := range x.Factors {
		for level := 1; level < len(x.Factors[f].Levels); level++ {
			var best []int
			for _, arm := range all {
				if arm[f] == level && (best == nil || others(arm) < others(best)) {
					best = arm
				}
			}
			if best != nil && !slices.ContainsFunc(arms, func(a []int) bool { return slices.Equal(a, best) }) {
				arms = append(arms, best)
			}
		}
	}
	return arms
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

// Tell takes what a start showed.
func (s *Search) Tell(recs []results.Record) error {
	now := s.now
	if s.again(recs) {
		s.tries++
		return nil
	}
	s.tries = 0
	seconds := s.seconds(recs)
	if now.trial == nil {
		return s.tellRace(now, seconds, recs)
	}
	for i := range recs {
		s.tried(now.entry, now.trial[i], &recs[i])
	}
	if s.queue = s.queue[1:]; len(s.queue) > 0 {
		return nil
	}
	return s.begin()
}

// mostTries is how often a start is made that something else disturbs.
const mostTries = 3

// again reports whether to make a start again: something else disturbed it, or a run failed. What
// is tried for the first time is believed to be invalid only if it is so again.
func (s *Search) again(recs []results.Record) bool {
	return s.tries+1 < mostTries && slices.ContainsFunc(recs, func(r results.Record) bool {
		return r.Verdict == results.Failed || r.FailedGate() == plan.ByEnvironment ||
			r.Verdict == results.Invalid && s.now.trial != nil
	})
}

// tried takes what became of a level.
func (s *Search) tried(e *entry, arm []int, r *results.Record) {
	defaults := !slices.ContainsFunc(arm, func(level int) bool { return level > 0 })
	if defaults && r.SUT.ThroughputGbps != nil {
		e.value = *r.SUT.ThroughputGbps
	}
	if r.Verdict == results.OK || r.FailedGate() == plan.ByEnvironment {
		return
	}
	c := Cannot{Mode: e.Name, What: strings.Join(e.words(arm), " "), Reason: r.Reason, Fix: r.Fix}
	s.note("%s %s: %s", e.Name, cmp.Or(c.What, atDefaults), r.Reason)
	if defaults {
		c.What = ""
	}
	e.Cannot = append(e.Cannot, c)
	if e.gone == nil {
		e.gone = map[plan.CellKey]bool{}
	}
	e.gone[e.cell(arm).Key()] = true
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
	return nil
}

// waiting says how many settings wait.
func (e *entry) waiting(f *race.Field) string {
	if n := len(f.Arms) - f.First; n > 0 {
		return fmt.Sprintf(", and %d wait to come in where they may be better", n)
	}
	return ""
}

// leave takes out what could not run when it was tried: levels that were tried alone, and cells of
// a file.
func (e *entry) leave() {
	e.Cells = slices.DeleteFunc(e.Cells, func(c plan.Cell) bool { return e.gone[c.Key()] })
	for f := range e.Factors {
		arm := make([]int, len(e.Factors))
		for level := len(e.Factors[f].Levels) - 1; level > 0; level-- {
			arm[f] = level
			if e.gone[e.cell(arm).Key()] {
				e.drop(f, level)
			}
		}
	}
	e.Factors = slices.DeleteFunc(e.Factors, func(f Factor) bool { return len(f.Levels) < 2 })
}

// tellRace tells a mode's race what a start showed.
func (s *Search) tellRace(now *start, seconds float64, recs []results.Record) error {
	e := now.entry
	var readings []race.Reading
	for i, arm := range now.race.Arms {
		if v, out, ok := s.read(e, arm, &recs[i]); ok {
			readings = append(readings, race.Reading{Arm: arm, Value: v, Out: out})
			if out != "" {
				what := cmp.Or(strings.Join(e.words(e.field.Arms[arm]), " "), atDefaults)
				e.Cannot = append(e.Cannot, Cannot{e.Name, what, out, recs[i].Fix})
			}
		}
	}
	if err := e.race.Tell(now.race, seconds, readings); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	if next, ok := e.race.Next(); !ok || next.Block != now.race.Block {
		s.sayBlock(e, now.race.Block, ok)
	}
	return nil
}

// mostFails is how often runs of a setting may fail, be invalid, or miss the pace.
const mostFails = 2

// atDefaults is what a setting is that differs in nothing.
const atDefaults = "at its defaults"

// read reads what a run says of its setting: a value, or why it is out. ok is false where it says
// nothing: something else disturbed it, or it failed, was invalid or missed the pace, which may be
// once.
func (s *Search) read(e *entry, arm int, r *results.Record) (v float64, out string, ok bool) {
	if v, ok := s.goal.value(r); ok {
		return v, "", true
	}
	switch {
	case r.Verdict == results.Unsupported:
		return 0, r.Reason, true
	case r.FailedGate() == plan.ByEnvironment:
		return 0, "", false
	case r.Verdict == results.OK && s.goal.offPace(r):
		out = "it does not hold the pace of all modes"
	case r.Verdict == results.OK:
		return 0, "its run has no " + s.goal.Name, true
	default:
		out = r.Reason
	}
	if e.fails[arm]++; e.fails[arm] < mostFails {
		return 0, "", false
	}
	return 0, out, true
}

// seconds returns how long a start took with what lay between it and the one before, from end to
// end, and remembers its end; 0: not known. Starts that something else disturbed are in the time of
// the one that was made in their place.
func (s *Search) seconds(recs []results.Record) float64 {
	was, now := s.last, ending{session: recs[0].SessionID}
	for i := range recs {
		now.utcNs = max(now.utcNs, recs[i].EndUTCNs())
	}
	s.last = now
	if was.session != now.session || was.utcNs == 0 || now.utcNs <= was.utcNs {
		return 0
	}
	return float64(now.utcNs-was.utcNs) / 1e9
}

// sayBlock says how a race stands after a block.
func (s *Search) sayBlock(e *entry, block int, goesOn bool) {
	in := 0
	for _, p := range e.race.Standing() {
		if p.Left == 0 {
			in++
		}
	}
	lead := "no run counted"
	if l, ok := e.race.Leaders(); ok {
		lead = "the defaults lead"
		if words := e.words(e.field.Arms[l.Winner]); words != nil {
			lead = strings.Join(words, " ") + " leads"
		}
		if l.Winner != e.field.Default && l.Gain > 0 {
			lead += fmt.Sprintf(" (%+.1f %% so far)", 100*(l.Gain-1))
		}
	}
	how := fmt.Sprintf("%d settings go on", in)
	if !goesOn {
		how = "the race is over"
	}
	s.note("%s, block %d: %s; %s (%.0f of %.0f s)", e.Name, block+1, lead, how, e.race.Spent(), e.seconds)
}
