// SPDX-License-Identifier: MIT

package stat

import "testing"

func TestJudge(t *testing.T) {
	faster, cpu := AtLeast(1.0, 0.97), AtMost(1.15)
	interval := func(lo, hi float64) Paired {
		return Paired{N: 8, Estimate: (lo + hi) / 2, Lo: lo, Hi: hi, Confidence: 0.96}
	}
	for _, tc := range []struct {
		name   string
		target Target
		ratio  Paired
		want   Answer
	}{
		{"faster", faster, interval(1.01, 1.05), Met},
		{"equal within the noise", faster, interval(0.98, 1.01), Met},
		{"reaches the target exactly", faster, interval(0.97, 1.0), Met},
		{"may be below the floor", faster, interval(0.96, 1.01), CannotTell},
		{"surely slower, above the floor", faster, interval(0.98, 0.99), NotMet},
		{"surely slower", faster, interval(0.90, 0.95), NotMet},
		{"cheap enough", cpu, interval(1.02, 1.15), Met},
		{"perhaps", cpu, interval(1.10, 1.16), CannotTell},
		{"too dear", cpu, interval(1.16, 1.30), NotMet},
		{"too few runs", faster, Paired{N: 5, Estimate: 1.2}, CannotTell},
		{"nothing asked", Target{}, interval(0.5, 0.6), NoTarget},
	} {
		if got := tc.target.Judge(tc.ratio); got != tc.want {
			t.Errorf("%s: %v for %v of target %v, want %v", tc.name, got, tc.ratio, tc.target, tc.want)
		}
	}
}
