// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/machine/veth"
)

// errInterrupted ends a plan that Ctrl-C ended; what ran until then is shown.
var errInterrupted = errors.New("interrupted: the result is of the runs before")

// Data ports: every run has another one, so that no run meets what one before it
// left in TIME_WAIT.
const (
	firstPort = 5201
	ports     = 10000
)

// performer runs a plan.
type performer struct {
	pair     *veth.Pair
	opts     *options
	progress *progress
	runs     int
	retries  int // left, of all pairs: a busy machine at most doubles the plan
}

// plan orders the runs, in pairs of neighbours: item 2c is ours of comparison c, item
// 2c+1 theirs. A round goes backwards after one that went forwards, so that a
// comparison sees ABBA ABBA.
func plan(comparisons, reps int) [][]matrix.Place {
	return slices.Collect(slices.Chunk(matrix.Order(2*comparisons, reps, true), 2))
}

// perform runs the plan. A mode that this kernel does not have takes its
// comparison out; any other failure ends the plan.
func (p *performer) perform(ctx context.Context, outcomes []*Outcome) error {
	pairs := plan(len(outcomes), p.opts.reps)
	p.retries = len(pairs)
	p.progress.begin(len(pairs), p.opts.tools.Duration)
	defer p.progress.end()
	for _, pair := range pairs {
		o := outcomes[pair[0].At/2]
		if o.Unsupported != "" {
			continue
		}
		p.progress.at++
		err := p.settle(ctx, o, pair)
		var u *UnsupportedError
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case errors.As(err, &u):
			o.Unsupported = u.Reason
		case err != nil:
			return fmt.Errorf("%s: %w", o.Comparison.Name, err)
		}
	}
	return nil
}

// settle runs a pair, and again when others disturbed it: what it sees of them
// is their CPU time, never the figures compared, so that nothing is selected. A
// pair that stays disturbed counts as it is, and is counted.
func (p *performer) settle(ctx context.Context, o *Outcome, pair []matrix.Place) error {
	for left := p.opts.retries; ; left-- {
		var got [2]Measured
		for _, at := range pair {
			var err error
			if got[at.At%2], err = p.one(ctx, o.Comparison, at); err != nil {
				return err
			}
		}
		if pair[0].Warmup {
			return nil
		}
		calm := max(got[0].Foreign, got[1].Foreign) <= p.opts.maxForeign
		if calm || left == 0 || p.retries == 0 {
			o.add(got, !calm)
			return nil
		}
		o.Repeated++
		p.retries--
		awaitCalm(ctx, p.opts.maxForeign)
	}
}

func (p *performer) one(ctx context.Context, c Comparison, at matrix.Place) (Measured, error) {
	who := []Contender{c.Ours, c.Theirs}[at.At%2]
	p.progress.run(c.Name, who.Name, at)
	port := firstPort + p.runs%ports
	p.runs++
	m, err := measure(ctx, p.pair, who, port, p.opts.nice, p.opts.tools.Duration)
	p.progress.ran(m, err)
	return m, err
}
