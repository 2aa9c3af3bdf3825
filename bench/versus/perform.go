package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/veth"
)

// errInterrupted ends a plan that Ctrl-C ended; what ran until then is shown.
var errInterrupted = errors.New("interrupted: the result is of the runs before")

// firstPort is the data port of the first run. Every run has another one, so
// that no run meets what the last one left in TIME_WAIT.
const firstPort = 5201

// perform runs the plan. A mode that this kernel does not have takes its
// comparison out; any other failure ends the plan.
func perform(ctx context.Context, pair *veth.Pair, outcomes []*Outcome, o *options, p *progress) error {
	steps := plan(len(outcomes), o.reps)
	p.begin(len(steps), o.tools.Duration)
	defer p.end()
	for i, s := range steps {
		out := outcomes[s.Comparison]
		if out.Unsupported != "" {
			p.skip()
			continue
		}
		c := out.Comparison.Theirs
		if s.Ours {
			c = out.Comparison.Ours
		}
		p.run(out.Comparison.Name, c.Name, s.Rep)
		m, err := measure(ctx, pair, c, firstPort+i%1000, o.tools.Duration)
		var u *UnsupportedError
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case errors.As(err, &u):
			out.Unsupported = u.Reason
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", out.Comparison.Name, err)
		}
		p.ran(m)
		if s.Rep >= 0 {
			out.add(s.Ours, m)
		}
	}
	return nil
}
