// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"testing"
)

// A turn is run again as long as others disturb it, but no more often than each turn, and all
// turns together, may be.
func TestPatience(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is waited for
	for name, x := range map[string]struct {
		foreign    []float64 // of the turn's runs, in order; the last one goes on
		each, left int
		again      int
		calm       bool
	}{
		"calm":                {[]float64{.1}, 3, 9, 0, true},
		"at the limit":        {[]float64{.3}, 3, 9, 0, true},
		"disturbed once":      {[]float64{.5, .1}, 3, 9, 1, true},
		"disturbed for good":  {[]float64{.5}, 3, 9, 3, false},
		"nothing left of all": {[]float64{.5}, 3, 1, 1, false},
		"not once":            {[]float64{.5}, 0, 9, 0, false},
	} {
		p, runs := patience{limit: .3, each: x.each, left: x.left}, 0
		again, calm, err := p.settle(ctx, func() (float64, error) {
			runs++
			return x.foreign[min(runs, len(x.foreign))-1], nil
		})
		if err != nil || again != x.again || calm != x.calm || runs != again+1 || p.left != x.left-again {
			t.Errorf("%s: %d times again, calm %v, %d runs, %d left, %v", name, again, calm, runs, p.left, err)
		}
	}
	p, broke := patience{each: 3, left: 9}, errors.New("broke")
	if again, _, err := p.settle(ctx, func() (float64, error) { return 9, broke }); !errors.Is(err, broke) ||
		again != 0 {
		t.Errorf("a turn that fails: %d times again, %v", again, err)
	}
}
