// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/plan/matrix"
)

// errInterrupted ends a plan that Ctrl-C ended; what ran until then is shown.
var errInterrupted = errors.New("interrupted: the result is of the runs before")

// Ports: every run has others, so that no run meets what one before it left in
// TIME_WAIT; neper and netperf have a second one, dataPorts further up.
const (
	firstPort = 5201
	ports     = 10000
)

// performer runs a plan.
type performer struct {
	pairs    pairs
	opts     *options
	progress *progress
	patience patience
	runs     int
}

// orderTurns orders the runs, in the turns of groups of so many: every round has each run of each
// group once, and goes backwards after one that went forwards, so that two of a group see
// ABBA ABBA.
func orderTurns(sizes []int, reps int) []turn {
	var of []int // the group of a run
	var first []int
	for g, n := range sizes {
		first = append(first, len(of))
		of = append(of, slices.Repeat([]int{g}, n)...)
	}
	var turns []turn
	for _, at := range matrix.Order(len(of), reps, true) {
		g := of[at.At]
		at.At -= first[g]
		if n := len(turns); n == 0 || turns[n-1].group != g || turns[n-1].runs[0].Block != at.Block {
			turns = append(turns, turn{group: g})
		}
		t := &turns[len(turns)-1]
		t.runs = append(t.runs, at)
	}
	return turns
}

// turn is a group's part of a round.
type turn struct {
	group int
	runs  []matrix.Place // At counts within the group
}

// perform runs the plan. A way that this kernel does not have takes its
// comparisons out; any other failure ends the plan.
func (p *performer) perform(ctx context.Context, groups []*group) error {
	var sizes []int
	for _, g := range groups {
		sizes = append(sizes, len(g.ways))
	}
	turns := orderTurns(sizes, p.opts.reps)
	p.patience = patience{limit: p.opts.maxForeign, each: p.opts.retries, left: len(turns)}
	p.progress.begin(turns, p.opts.takes(turns))
	defer p.progress.end()
	for _, t := range turns {
		err := p.settle(ctx, groups[t.group], t.runs)
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case err != nil:
			return err
		}
	}
	return nil
}

// settle runs a turn, and again when others disturbed it. A turn that stays disturbed counts as it
// is, and is counted.
func (p *performer) settle(ctx context.Context, g *group, runs []matrix.Place) error {
	var got map[int]Measured
	turn := func() (foreign float64, err error) {
		got = map[int]Measured{}
		if p.opts.turns > 0 {
			got, err = p.together(ctx, g, runs)
			for _, m := range got {
				foreign = max(foreign, m.Foreign)
			}
			return foreign, err
		}
		for _, at := range runs {
			if g.lost[at.At] != "" {
				continue
			}
			m, err := p.one(ctx, g, at)
			if u := (*UnsupportedError)(nil); errors.As(err, &u) {
				g.lost[at.At] = u.Reason
				continue
			}
			if err != nil {
				return 0, err
			}
			got[at.At], foreign = m, max(foreign, m.Foreign)
		}
		return foreign, nil
	}
	if runs[0].Warmup {
		_, err := turn()
		return err
	}
	again, calm, err := p.patience.settle(ctx, turn)
	if err != nil {
		return err
	}
	g.repeated += again
	g.add(got, !calm)
	return nil
}

func (p *performer) one(ctx context.Context, g *group, at matrix.Place) (Measured, error) {
	p.progress.run(g.name, g.ways[at.At].Name, at)
	m, err := p.trial(g, at, 0).measure(ctx)
	p.progress.ran(m, err)
	if err != nil {
		err = fmt.Errorf("%s: %w", g.name, err)
	}
	return m, err
}

// trial prepares a run over a pair of the layout, on a port of its own.
func (p *performer) trial(g *group, at matrix.Place, pair int) trial {
	port := firstPort + p.runs%ports
	p.runs++
	return trial{p.pairs[g.layout][pair], g.ways[at.At], port, p.opts.nice, p.opts.tools.Duration}
}
