// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"

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

// perform runs the plan. A mode that this kernel does not have takes its
// comparison out; any other failure ends the plan.
func (p *performer) perform(ctx context.Context, outcomes []*Outcome) error {
	pairs := plan(len(outcomes), p.opts.reps)
	p.retries = len(pairs)
	p.progress.begin(len(pairs), p.opts.tools.Duration)
	defer p.progress.end()
	for _, at := range pairs {
		o := outcomes[at.Comparison]
		if o.Unsupported != "" {
			continue
		}
		err := p.settle(ctx, o, at)
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
func (p *performer) settle(ctx context.Context, o *Outcome, at Pair) error {
	for left := p.opts.retries; ; left-- {
		ours, theirs, err := p.both(ctx, o.Comparison, at)
		if err != nil || at.Rep < 0 {
			return err
		}
		calm := max(ours.Foreign, theirs.Foreign) <= p.opts.maxForeign
		if calm || left == 0 || p.retries == 0 {
			o.add(ours, theirs, !calm)
			return nil
		}
		o.Repeated++
		p.retries--
		awaitCalm(ctx, p.opts.maxForeign)
	}
}

func (p *performer) both(ctx context.Context, c Comparison, at Pair) (ours, theirs Measured, err error) {
	first, second := &ours, &theirs
	a, b := c.Ours, c.Theirs
	if !at.OursFirst {
		first, second, a, b = second, first, b, a
	}
	if *first, err = p.one(ctx, c, a, at); err == nil {
		*second, err = p.one(ctx, c, b, at)
	}
	return ours, theirs, err
}

func (p *performer) one(ctx context.Context, c Comparison, who Contender, at Pair) (Measured, error) {
	p.progress.run(c.Name, who.Name, at)
	port := firstPort + p.runs%ports
	p.runs++
	m, err := measure(ctx, p.pair, who, port, p.opts.nice, p.opts.tools.Duration)
	p.progress.ran(m, err)
	return m, err
}
