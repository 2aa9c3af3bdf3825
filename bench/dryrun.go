// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// DryRun writes what Run would do: the cells, those that cannot run with the
// reason, what is set on the hosts, what is started, the order, and how long it
// takes. It asks the hosts where it can reach them, and says so where it cannot.
func (e *Experiment) DryRun(ctx context.Context, w io.Writer) (err error) {
	if err := e.turnsFit(); err != nil {
		return &inputError{err}
	}
	if _, err := containerOf(e.Spec); err != nil {
		return err
	}
	missing := func(c plan.Cell) *Missing { return plan.CannotRun(&c, nil) }
	st, hostErr := e.look(ctx)
	if hostErr == nil {
		defer func() { err = errors.Join(err, st.Close()) }()
		if err := e.Power.check(st.SUT.SameMachine(st.TG)); err != nil {
			return err
		}
		missing = st.missing
	}
	p := preview{spec: e.Spec, missing: remembered(missing), power: e.Power, trusted: e.TrustFile,
		orderLine: e.OrderLine}
	p.oneMachine, p.loopback = nearby(e.Spec.SUT.Host, e.Spec.TG.Host)
	uncompared := p.missing
	if hostErr == nil {
		p.once, uncompared = e.triedOnce(st), e.uncompared(st)
		p.stage, p.found, p.oneMachine = st, st.opt.found, st.SUT.SameMachine(st.TG)
		p.startsAnew, _ = e.startsAnew(st, p.missing)
		p.renewal, p.asking = renewal(st.SUT, st.TG), st.asking
	}
	fmt.Fprintf(w, "experiment %s, plan %.12s, seed %d\n", plaintext.Line(e.Spec.Name), e.Spec.Hash(), e.Spec.Seed)
	if e.Spec.Short {
		fmt.Fprintln(w, "this is the file's short version; all of it: --whole")
	}
	if hostErr != nil {
		fmt.Fprintf(w, "could not ask the hosts what they can run: %v\n", hostErr)
	} else {
		fmt.Fprintf(w, "SUT %s, TG %s, path %s, interface %s, MTU %d\n", st.SUT.Spec.Name, st.TG.Spec.Name, st.opt.Addr,
			orNone(st.opt.devNames(stream.RX)), st.opt.MTU)
	}
	if probe := e.Spec.Cells[0].Probe; probe != "" && !slices.ContainsFunc(e.Spec.Cells,
		func(c plan.Cell) bool { return c.Probe != probe }) {
		fmt.Fprintf(w, "probes with every run: %s\n", strings.Join(e.Spec.Cells[0].Probes(), ", "))
	}
	if e.Power.On() {
		fmt.Fprintf(w, "power: %s\n", e.Power.plan())
	}
	p.cells(w)
	p.settings(w)
	p.foretellResets(paragraph(w, "what this does to the rules that are there"))
	p.threads(w)
	p.programs(w)
	p.reached(w)
	p.order(w)
	p.time(w)
	if hostErr == nil {
		st.foretellShared(p.missing, paragraph(w, "what the CPU figures can show"))
	}
	if err := e.foretell(uncompared, paragraph(w, "what the comparisons can show")); err != nil {
		return err
	}
	e.foretellFew(st, uncompared, paragraph(w, "what power and profiles can show"))
	if hostErr != nil {
		return nil
	}
	e.foretellStarts(st, p.missing, paragraph(w, "how far verdicts hold"))
	return st.checkCPUs()
}

// paragraph prints lines below a title, which comes with the first, broken where they are long.
func paragraph(w io.Writer, title string) func(line string) {
	title = "\n" + title + "\n"
	return func(line string) {
		fmt.Fprint(w, title, plaintext.Wrap("  ", "    ", line))
		title = ""
	}
}

// look reaches the hosts, unless a program of the file's would have to run for that which
// nobody has read yet.
func (e *Experiment) look(ctx context.Context) (*stage, error) {
	if err := e.Spec.UntrustedHost(); err != nil && !e.TrustFile {
		return nil, err
	}
	return e.open(ctx, "", true)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// preview prints a plan.
type preview struct {
	spec    *matrix.Spec
	missing func(plan.Cell) *Missing
	once    func(plan.Cell) bool // nil: of no cell
	power   PowerOptions
	trusted bool // the file, by the user

	orderLine string // [Experiment].OrderLine

	stage      *stage // nil: the hosts were not asked
	found      [2]port
	oneMachine bool // both ends are one, as far as is known
	loopback   bool // and have one interface

	startsAnew bool // the agents are started anew for each block, which takes so long
	renewal    time.Duration
	asking     time.Duration // and a replay so much more
}

// nearby judges by the names of hosts alone whether they are one machine, and one network namespace
// of it. What is reached by a connection may be anywhere.
func nearby(sut, tg string) (oneMachine, loopback bool) {
	if sut == "" {
		return true, false // namespaces made for the run
	}
	a, aerr := host.ParseSpec(sut)
	b, berr := host.ParseSpec(tg)
	if aerr != nil || berr != nil || a.Far() || b.Far() {
		return false, false
	}
	return true, a.Kind == b.Kind && a.Netns == b.Netns
}

// interleaved lists the runs that would be made.
func (p preview) plan() []matrix.Run {
	plan := planOnce(p.spec.Runs(), p.missing)
	if p.once == nil {
		return plan
	}
	return planTried(plan, p.once)
}

// remembered asks once for each cell: a plan has a hundred thousand runs of some.
func remembered(missing func(plan.Cell) *Missing) func(plan.Cell) *Missing {
	known := map[plan.CellKey]*Missing{}
	return func(c plan.Cell) *Missing {
		k := c.Key()
		m, ok := known[k]
		if !ok {
			m = missing(c)
			known[k] = m
		}
		return m
	}
}

func (p preview) cells(w io.Writer) {
	s := p.spec
	fmt.Fprintf(w, "\n%d cells", len(s.Cells))
	if s.Folded > 0 {
		fmt.Fprintf(w, " (%d more combinations are the same: a factor does not apply to their modes)", s.Folded)
	}
	fmt.Fprintln(w)
	var reasons []Missing
	for i, c := range s.Cells {
		fmt.Fprintf(w, "%4d  %s", i+1, plaintext.Line(c.ID)) // whoever named it
		if m := p.missing(c); m != nil {
			at := slices.Index(reasons, *m)
			if at < 0 {
				at, reasons = len(reasons), append(reasons, *m)
			}
			fmt.Fprintf(w, "  unsupported [%d]", at+1)
		}
		fmt.Fprintln(w)
	}
	for i, m := range reasons {
		fmt.Fprintf(w, "\n[%d] unsupported: %s\n", i+1, m.Reason)
		if m.Fix != "" {
			fmt.Fprintf(w, "    fix: %s\n", m.Fix)
		}
	}
}

// order prints the cells' numbers as the blocks run them.
func (p preview) order(w io.Writer) {
	number := map[plan.CellKey]int{}
	for i, c := range p.spec.Cells {
		number[c.Key()] = i + 1
	}
	blocks := map[int][]string{}
	first := calibration(p.spec, p.missing)
	plan := calibratedFirst(first, p.plan())[len(first):]
	last := 0
	for left := plan; len(left) > 0; {
		start, numbers := matrix.Start(left), []string(nil)
		left = left[len(start):]
		last = max(last, start[0].Block)
		for _, r := range start {
			if p.missing(r.Cell) == nil {
				numbers = append(numbers, fmt.Sprint(number[r.Cell.Key()]))
			}
		}
		if text := strings.Join(numbers, "+"); text != "" {
			blocks[start[0].Block] = append(blocks[start[0].Block], text)
		}
	}
	fmt.Fprintf(w, "\norder of the cells, block by block\n")
	if p.orderLine != "" {
		fmt.Fprint(w, plaintext.Wrap("  ", "    ", p.orderLine))
	}
	p.turns(w, plan)
	if first != nil {
		each := fmt.Sprintf("%d of each cell", calibrationRuns)
		if first[0].Group > 0 {
			each = "those of a group take turns, instead of a warm-up"
		}
		fmt.Fprintf(w, "  first, unpaced runs that the percentages refer to: %d runs of %v, %s\n", len(first),
			options(p.spec).window(first[0]), each)
		r := ratesOf(p.spec, &Options{})
		if n := r.families(first); n > 1 {
			fmt.Fprintf(w, "  a percentage refers to the slowest of the cells compared with each other "+
				"(compare.about): %d such groups\n", n)
		}
	}
	const shown = 4
	for b := range last + 1 {
		name := ""
		if b == 0 && p.spec.Warmup {
			name = " (warm-up)"
		}
		if len(blocks[b]) == 0 {
			continue
		}
		if b == shown && last > shown {
			fmt.Fprintf(w, "  ... and so on, forwards and backwards, up to block %d\n", last)
			return
		}
		fmt.Fprintf(w, "  block %d%s: %s\n", b, name, strings.Join(blocks[b], " "))
	}
}

// turns says who takes turns with whom, and how long that takes.
func (p preview) turns(w io.Writer, plan []matrix.Run) {
	turn := p.spec.TurnLength()
	if turn == 0 {
		return
	}
	all := options(p.spec)
	told, alone := map[int]bool{}, []string(nil)
	fmt.Fprintf(w, "  cells joined by + are open together and take turns of %v, there and back:\n", turn)
	for left := plan; len(left) > 0; {
		start := matrix.Start(left)
		left = left[len(start):]
		if first := start[0]; !first.Warmup && first.Group > 0 && !told[first.Group] {
			told[first.Group] = true
			o, of := all.ofTurns(&first.Cell), ""
			if o.Turn != turn {
				of = fmt.Sprintf(" of %v", o.Turn)
			}
			fmt.Fprintf(w, "  group %d, %s: a start takes %v, %d turns%s of each cell\n", first.Group,
				counted(len(start), "cell", "cells"), o.startLength(start).Round(10*time.Millisecond),
				2*matrix.RoundsOf(o.window(first), o.Turn), of)
			p.apart(w, start)
		}
		if c := &start[0].Cell; c.Alone() && !slices.Contains(alone, c.ID) && p.missing(*c) == nil {
			alone = append(alone, c.ID)
		}
	}
	if alone != nil {
		fmt.Fprint(w, plaintext.Wrap("  ", "    ", "made alone, as with order: blocks: "+strings.Join(alone, ", ")))
	}
}

// apart says which cells of a group cannot be open together, and why; and for which headers are
// split because they are beside modes that take queues over.
func (p preview) apart(w io.Writer, start []matrix.Run) {
	var cells []plan.Cell
	for _, c := range cellsOf(start) {
		if p.missing(c) == nil {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		return
	}
	o := p.forCell(saysMost(cells))
	parts := o.fitQueues(cells)
	for _, part := range parts {
		if part.why != "" {
			fmt.Fprintf(w, "    %s: %s\n", cells[part.cells[0]].ID, part.why)
		}
	}
	split := slices.ContainsFunc(cells, func(c plan.Cell) bool { return c.TakesQueues() })
	for i := range cells {
		if c := &cells[i]; split && !c.SplitsItself() && c.HeaderSplit == nil {
			fmt.Fprintf(w, "    %s: headers are split for it too, as the NIC does for the others of the group; "+
				"add the cell with header_split: true to have this one with the host as it is\n", c.ID)
		}
	}
}

func (p preview) time(w io.Writer) {
	runner := &Runner{Opt: options(p.spec)}
	if p.power.On() {
		p.power.lengthen(&runner.Opt)
		runner.Power = &PowerMeter{opt: p.power}
	}
	s := &Session{Runner: runner, Missing: p.missing, LossFree: p.spec.Search(), StartsAnew: p.startsAnew,
		Renewal: p.renewal, Asking: p.asking}
	planned := calibratedFirst(calibration(p.spec, p.missing), p.plan())
	n, enough := 0, leastRuns(p.spec)
	var least []matrix.Run
	for _, r := range planned {
		if p.missing(r.Cell) == nil {
			n++
		}
		if p.spec.Adaptive != nil && (r.Warmup || r.Rep < enough) {
			least = append(least, r)
		}
	}
	fmt.Fprintf(w, "\n%d runs, about %v", n, s.estimate(planned).Round(time.Second))
	if least != nil {
		fmt.Fprintf(w, "; at least %v, if every interval is narrow enough after %d",
			s.estimate(least).Round(time.Second), enough)
	}
	fmt.Fprintln(w)
	if n, replays := s.countRenewals(planned); n > 0 && s.Renewal > 0 {
		fmt.Fprintf(w, "in it, %v to start the agents anew, %s\n",
			s.renewals(n, replays).Round(100*time.Millisecond), counted(n, "time", "times"))
	}
	if l := p.spec.Lengths; l != nil {
		other := plan.OtherTurns(p.spec.Cells)
		own := slices.DeleteFunc(slices.Clone(planned), func(r matrix.Run) bool { return other(&r.Cell) })
		fmt.Fprintf(w, "in it, %v for the receivers at turns of other lengths and made alone, %s each, in blocks of "+
			"their own between the others (--turn %v: without)\n",
			(s.estimate(planned) - s.estimate(own)).Round(time.Second), counted(l.Repetitions, "time", "times"),
			p.spec.TurnLength())
	}
	if most := p.spec.Gates.Replacements(); most > 0 && n > 0 {
		fmt.Fprintf(w, "blocks of which something else on the hosts disturbs a run add to it: each is made again, "+
			"whole, up to %s\n", counted(most, "time", "times"))
	}
	p.searches(w, s, planned)
	_, anew := s.countRests(planned)
	again := ""
	if anew > 0 {
		again = fmt.Sprintf("; %d more times before a run whose settings differ from the previous run's", anew)
	}
	if rest := runner.Power.restTime(); rest > 0 {
		fmt.Fprintf(w, "in it, to measure idle power and what the CPUs do at rest, %v of rest after each run "+
			"that counts, and before the first%s\n", rest, again)
		if line := runner.Power.unusedRest(p.spec.Rest); line != "" {
			fmt.Fprintln(w, line)
		}
	} else if rest := runner.restTime(); rest > 0 {
		fmt.Fprintf(
			w, "in it, to measure what the CPUs do at rest, %v after each run that counts, and before the first%s\n",
			rest, again)
	}
	none := func(plan.Cell) *Missing { return nil }
	if all := calibratedFirst(calibration(p.spec, none), p.spec.Runs()); n < len(all) {
		s.Missing = nil
		fmt.Fprintf(w, "if every cell could run: %d runs, about %v\n", len(all), s.estimate(all).Round(time.Second))
	}
}

// searches prints what runs are that look for the highest rate without loss.
func (p preview) searches(w io.Writer, s *Session, plan []matrix.Run) {
	n := 0
	for _, r := range plan {
		if searches(r) && p.missing(r.Cell) == nil {
			n++
		}
	}
	if n == 0 {
		return
	}
	l := s.LossFree
	usual, one := l.Usual(), s.Runner.Opt.length(matrix.Run{})+overhead
	most := s.estimateOf(plan, func(r matrix.Run) int { _, most := s.tries(r); return most })
	fmt.Fprintf(w, "in it, %s for the highest rate at which no more than %g %% are lost: about %d trials of %v "+
		"each, %v a search, if none fails by chance; at most %d trials, and then %v in all\n",
		counted(n, "search", "searches"), 100*l.Limit, usual, one.Round(10*time.Millisecond),
		(time.Duration(usual) * one).Round(time.Second), l.Trials, most.Round(time.Second))
}
