// SPDX-License-Identifier: MIT

package wire

import (
	"slices"
	"strings"
	"testing"
)

// Turns that overlap, have no length, or are too many are refused.
func TestTurnsCheck(t *testing.T) {
	good := Turns{AtNs: []int64{100, 200, 300}, OnNs: 60, SettleNs: 4, DrainNs: 10, LeadNs: 20}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for say, spoil := range map[string]func(*Turns){
		"not 1 to":         func(x *Turns) { x.AtNs = nil },
		"10001 turns":      func(x *Turns) { x.AtNs = slices.Repeat([]int64{1}, MostTurns+1) },
		"without a length": func(x *Turns) { x.OnNs = 0 },
		"all of which":     func(x *Turns) { x.SettleNs = 60 },
		"do not end":       func(x *Turns) { x.DrainNs = mostNs + 1 },
		"a turn at 0":      func(x *Turns) { x.AtNs[0] = 0 },
		"a turn at -5":     func(x *Turns) { x.AtNs[0] = -5 },
		"one before":       func(x *Turns) { x.LeadNs = 31 },
		"at 150 ns":        func(x *Turns) { x.AtNs[1] = 150 },
	} {
		x := good
		x.AtNs = slices.Clone(good.AtNs)
		spoil(&x)
		if err := x.Check(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", say, err)
		}
	}
	if err := (&TurnsResult{Turns: 3, LateCPU: 4}).Check(); err == nil {
		t.Error("more turns read late than there were")
	}
	if err := (&TurnsResult{Turns: 3, Missed: 4}).Check(); err == nil {
		t.Error("more turns missed than there were")
	}
}
