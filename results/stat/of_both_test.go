// SPDX-License-Identifier: MIT

package stat

import "testing"

// A run whose block has none of the other cell, because that one was spoilt, moves neither ratio
// nor p, however bad the block was; a block that a boot cut in two does.
func TestRunsOfBoth(t *testing.T) {
	var a, b []Run
	for i := range 12 {
		x := 1 + float64(i*7%12)/100
		a = append(a, Run{Session: "s", Rep: i, Value: x})
		b = append(b, Run{Session: "s", Rep: i, Value: x * 1.05})
	}
	a[5].Value = .5
	all, _ := blocks(a, append(b[:5:5], b[6:]...))
	both, _ := blocks(append(a[:5:5], a[6:]...), append(b[:5:5], b[6:]...))
	if all.P != both.P || all.Ratio.Value != both.Ratio.Value || all.Pairs != 11 || all.NA != 12 {
		t.Errorf("%+v\n%+v", all, both)
	}
	a[5].Boot = "later"
	if x, y := ofBoth(a, b); len(x) != 12 || len(y) != 12 {
		t.Errorf("a block in two boots: %d and %d runs", len(x), len(y))
	}
}
