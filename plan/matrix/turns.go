// SPDX-License-Identifier: MIT

package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/plan"
)

// order is how runs follow each other.
type order string

const (
	blocks = "blocks" // one after another; so is ""
	turns  = "turns"  // cells of a group are open together, and take turns

	// usualTurn is long beside what a flow takes to get to its pace again, and short beside what
	// else a machine does.
	usualTurn = 60 * time.Millisecond
	// A group has no more cells, and a cell no more turns, than agents take.
	mostGroup = 32
	mostTurns = 5000
	// MostStart is how long a start lasts at most: clocks of two hosts stay together for so long,
	// and part by 60 ms in it.
	MostStart = 10 * time.Minute
	// turnOverhead is about what a turn takes beside its length.
	turnOverhead = 20 * time.Millisecond
)

func parseOrder(s string) (order, error) {
	switch s {
	case blocks:
		return "", nil // as before there were any others
	case turns:
		return turns, nil
	}
	return "", fmt.Errorf("%q: must be %s or %s", s, blocks, turns)
}

// parseTurn reads the length of a turn; the usual one is none of its own.
func parseTurn(s string) (time.Duration, error) {
	d, err := plan.ParseTurn(s)
	if d == usualTurn {
		d = 0
	}
	return d, err
}

// TurnLength returns how long a turn is; 0: cells take none.
func (s *Spec) TurnLength() time.Duration {
	if s.Order != turns {
		return 0
	}
	return cmp.Or(s.Turn, usualTurn)
}

// turnOf returns how long a turn of a cell is; 0: it takes none.
func (s *Spec) turnOf(c *plan.Cell) time.Duration { return c.TurnLength(s.TurnLength()) }

// LeastRounds is how many rounds a cell with turns of a length of its own has at least, of two
// turns each, whatever its window: of fewer turns too many are left out soon.
const LeastRounds = 4

// TurnsWindow returns the window of a cell's turns of that length.
func TurnsWindow(c *plan.Cell, window, turn time.Duration) time.Duration {
	if c.Turn == "" {
		return window
	}
	return max(window, LeastRounds*2*turn)
}

// TurnsFit refuses turns of a plan that cannot have any.
func (s *Spec) TurnsFit() error {
	if s.Order != turns {
		if s.Turn != 0 || s.Lengths != nil || slices.ContainsFunc(s.Cells,
			func(c plan.Cell) bool { return c.Turn != "" }) {
			return errors.New("a turn has a length only with order: turns")
		}
		return nil
	}
	if s.Adaptive != nil {
		return errors.New("adaptive and order: turns cannot be combined: use order: blocks, or a number of repetitions")
	}
	for i := range s.Cells {
		if err := s.Cells[i].CheckTurns(); err != nil {
			return fmt.Errorf("cell %s: %w", s.Cells[i].ID, err)
		}
	}
	for _, end := range []*End{&s.SUT, &s.TG} {
		for _, name := range []string{"net.core.busy_read", "net.core.busy_poll"} {
			if v := end.Settings.Sysctl[name]; v != "" && v != "0" {
				return fmt.Errorf(
					"sysctl %s: a thread that polls would do so in the turns of others: use order: blocks", name)
			}
		}
	}
	if err := s.gatesFitTurns(); err != nil {
		return err
	}
	for _, g := range plan.TurnGroups(s.Cells) {
		c := &s.Cells[g[0]]
		turn := s.turnOf(c)
		if turn == 0 {
			continue
		}
		window := TurnsWindow(c, max(s.Duration, s.WarmupDuration), turn)
		n := 2 * (RoundsOf(window, turn) + RoundsOf(s.RampUp, turn))
		if len(g) > mostGroup {
			return fmt.Errorf(
				"%d cells would take turns with each other, at most %d may: use order: blocks, or several "+
					"plans", len(g), mostGroup)
		}
		if err := s.oneOnLease(g); err != nil {
			return err
		}
		if last := s.Port + len(g) - 1; s.Port > 0 && last > 65535 {
			return fmt.Errorf("port %s: %d cells take turns, each with a port of its own from this one on",
				strconv.Itoa(s.Port), len(g))
		}
		if n > mostTurns {
			return fmt.Errorf("a duration of %v makes %d turns of %v, at most %d may be: use longer turns", window, n,
				turn, mostTurns)
		}
		if last := time.Duration(len(g)*n) * (turn + turnOverhead); last > MostStart {
			return fmt.Errorf(
				"%d cells that take turns for %v each would last %v, and the hosts' clocks part meanwhile: "+
					"at most %v may be: use fewer cells, a shorter duration, or order: blocks", len(g), window,
				last.Round(time.Second), MostStart)
		}
	}
	return s.Lengths.check()
}

// oneOnLease refuses several cells of a group that would take the leased queue over, which is one.
func (s *Spec) oneOnLease(group []int) error {
	var on []string
	for _, i := range group {
		if c := &s.Cells[i]; c.LeaseQueue != "" && c.TakesQueues() {
			on = append(on, c.ID)
		}
	}
	if len(on) > 1 {
		return fmt.Errorf("lease_queue %s: %s would have the leased queue at the same time: use order: blocks",
			s.Cells[group[0]].LeaseQueue, strings.Join(on, " and "))
	}
	return nil
}

// unjudgedInTurns are the gates that cannot be judged in turns, and why.
var unjudgedInTurns = map[string]string{
	"throttled": "a cgroup's periods are longer than turns, and would be of several cells",
	"counters":  "what the thread took that reads them is not known without the softirq on top of it",
}

// gatesFitTurns refuses gates that were asked for and that turns cannot judge by.
func (s *Spec) gatesFitTurns() error {
	for i := range plan.Limits {
		l := &plan.Limits[i]
		v := *l.At(&s.Gates)
		asked := v != nil && (s.Gates.Asks(l.Key) || !l.Marks() && *v != l.Default)
		if why := unjudgedInTurns[l.Key]; asked && why != "" {
			return fmt.Errorf("gate %s cannot be judged in turns: %s: use order: blocks, or leave it out", l.Key, why)
		}
	}
	return nil
}

// checkTurns refuses turns at their place in the file.
func (s *Spec) checkTurns(root ast.Node) error {
	key := "turn"
	if s.Order == turns {
		key = "order"
	}
	return placed(under(root, key), s.TurnsFit())
}

// inOrder lists the runs of one replay in their order. With turns, groups are what takes the place
// of cells, and who of a group is the first changes with the repetition.
func (s *Spec) inOrder(seed uint64) (runs []Run) {
	if s.TurnLength() == 0 {
		return Interleave(s.Cells, s.Repetitions, s.Warmup, seed)
	}
	groups, other := plan.TurnGroups(s.Cells), plan.OtherTurns(s.Cells)
	var own, beside []int
	for i, g := range groups {
		if s.Lengths != nil && other(&s.Cells[g[0]]) {
			beside = append(beside, i)
		} else {
			own = append(own, i)
		}
	}
	runs = s.ofGroups(groups, own, s.Repetitions, s.Warmup, seed)
	if beside == nil {
		return runs
	}
	return s.among(runs, s.ofGroups(groups, beside, s.Lengths.Repetitions, false, seed))
}

// ofGroups orders the runs of some groups.
func (s *Spec) ofGroups(groups [][]int, some []int, reps int, warmup bool, seed uint64) (runs []Run) {
	for _, p := range interleave(len(some), reps, warmup, seed) {
		n := some[p.At]
		g := groups[n]
		for i := range g {
			r := Run{Cell: s.Cells[g[(i+p.Rep)%len(g)]], Group: n + 1, Block: p.Block, Rep: p.Rep, Warmup: p.Warmup}
			if r.Cell.Alone() {
				r.Group = 0
			}
			runs = append(runs, r)
		}
	}
	return runs
}

// Start returns the first runs of a plan that are made together: those of a group that take turns,
// or one.
func Start(runs []Run) []Run {
	n := 1
	for ; n < len(runs) && runs[0].Group > 0 && runs[n].together(&runs[0]); n++ {
	}
	return runs[:min(n, len(runs))]
}

func (r *Run) together(first *Run) bool {
	return r.Group == first.Group && r.Block == first.Block && r.Replay == first.Replay && r.Warmup == first.Warmup &&
		r.Calibrates == first.Calibrates
}

// OneStart makes a run of each of these cells, those of a group together, but for those that are
// made alone. A group has the number that it has in the plan.
func (s *Spec) OneStart(cells []plan.Cell) (runs []Run) {
	n := len(s.Cells)
	for g, all := range plan.TurnGroups(slices.Concat(s.Cells, cells)) {
		for _, i := range all {
			if i >= n && !cells[i-n].Alone() {
				runs = append(runs, Run{Cell: cells[i-n], Group: g + 1})
			}
		}
	}
	return runs
}

// RoundsOf computes how many rounds give each of those that take turns the time d or more, where
// each has two turns in a round.
func RoundsOf(d, each time.Duration) int { return int((d + 2*each - 1) / (2 * each)) }

// ThereAndBack orders the turns of a round: who is first, and so has two turns with the fewest
// between them, changes from round to round.
func ThereAndBack(n, round int) (order []int) {
	for i := range n {
		order = append(order, (i+round)%n)
	}
	back := slices.Clone(order)
	slices.Reverse(back)
	return append(order, back...)
}
