// SPDX-License-Identifier: MIT

package stat

import (
	"testing"
)

// The values of the table of the signed-rank distribution: the confidence of the
// interval that leaves out k-1 Walsh averages at each end.
func TestSignedRank(t *testing.T) {
	for _, tc := range []struct {
		n, k int
		conf float64
	}{
		{5, 0, 0}, // the widest has 1 - 2/32 = 0.9375
		{6, 1, 1 - 2.0/64},
		{7, 3, 1 - 6.0/128},
		{8, 4, 1 - 10.0/256},
		{10, 9, 1 - 50.0/1024},
	} {
		if k, conf := signedRank(tc.n); k != tc.k || !near(conf, tc.conf) {
			t.Errorf("n = %d: k %d, confidence %v; want %d, %v", tc.n, k, conf, tc.k, tc.conf)
		}
	}
}

func TestPairsTakesOutCommonNoise(t *testing.T) {
	// The machine is now fast, now slow: every pair says 1.1.
	theirs := []float64{50, 20, 40, 10, 35, 45, 5, 30}
	ours := make([]float64, len(theirs))
	for i, v := range theirs {
		ours[i] = 1.1 * v
	}
	r := Pairs(ours, theirs)
	if !near(r.Estimate, 1.1) || !near(r.Lo, 1.1) || !near(r.Hi, 1.1) || r.N != 8 {
		t.Errorf("got %+v, want 1.1 without spread", r)
	}
}

func TestPairsOutlier(t *testing.T) {
	ours := []float64{100, 101, 99, 100, 102, 98, 100, 10}
	theirs := []float64{100, 100, 100, 100, 100, 100, 100, 100}
	r := Pairs(ours, theirs)
	if r.Estimate < 0.98 || r.Estimate > 1.01 || r.Hi < 1 {
		t.Errorf("got %+v: one bad run of eight must not decide", r)
	}
}

func TestPairsSymmetry(t *testing.T) {
	a, b := []float64{3, 5, 4, 6, 2, 9, 7}, []float64{4, 4, 4, 5, 3, 8, 9}
	x, y := Pairs(a, b), Pairs(b, a)
	if !near(x.Estimate*y.Estimate, 1) || !near(x.Lo*y.Hi, 1) || !near(x.Hi*y.Lo, 1) {
		t.Errorf("a/b %+v and b/a %+v are not each other's inverse", x, y)
	}
}

func TestPairsFew(t *testing.T) {
	if r := Pairs([]float64{2, 2, 2, 2, 2}, []float64{1, 1, 1, 1, 1}); !near(r.Estimate, 2) || r.HasInterval() {
		t.Errorf("5 pairs: got %+v, want 2 without interval", r)
	}
	if r := Pairs(nil, nil); r != (Paired{}) {
		t.Errorf("no pairs: got %+v", r)
	}
}
