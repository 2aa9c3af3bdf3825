// SPDX-License-Identifier: MIT

package stat

import (
	"math/rand/v2"
	"testing"
)

// One entry of methods adds a statistical test: samples that it fits are compared by it, and by no
// other, are corrected with those of its family, and have its verdict; all others stay.
func TestOneLineAddsAMethod(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 51))
	a, b := boots(rng, "boot", 1, 8, .01, .01, 1), boots(rng, "boot", 1, 8, .01, .01, 1)
	rare, common := Contrast(a[:1], b[:1], Between{}), Contrast(a, b, Between{})
	before := methods
	defer func() { methods = before }()
	lo, hi := 1.1, 1.3
	methods = append([]method{{"single runs", func(s *samples) bool { return len(s.a) == 1 && len(s.b) == 1 },
		func(s *samples) Difference {
			return Difference{NA: MinRuns, NB: MinRuns, Ratio: &Ratio{Value: 1.2, Lo: &lo, Hi: &hi}, P: .02,
				Level: WithinBoot}
		}}}, before...)

	d, other := Contrast(a[:1], b[:1], Between{}), Contrast(a, b, Between{})
	if d.P != .02 || rare.P == .02 || d.BootsA != 1 || other.P != common.P || other.Level != common.Level {
		t.Errorf("by the new test p = %g, before %g; others %+v, before %+v", d.P, rare.P, other, common)
	}
	if n := Family([]*Difference{&d, &other}); n != 2 || d.Adjusted != .04 || d.Sign() != Greater {
		t.Errorf("of %d tests: corrected p = %g, sign %d", n, d.Adjusted, d.Sign())
	}
}
