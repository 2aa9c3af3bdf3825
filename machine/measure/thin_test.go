// SPDX-License-Identifier: MIT

package measure

import (
	"slices"
	"testing"
)

func TestThin(t *testing.T) {
	s := Series{Name: "a", Unit: "b"}
	for i := range int64(1000) {
		s.T, s.V = append(s.T, (i-100)*1e6), append(s.V, float64(i-100))
	}
	got := s.Thin(9)
	if got.Name != "a" || got.Unit != "b" || len(got.T) != 9 || len(got.V) != 9 || got.T[0] != 0 ||
		!slices.IsSorted(got.T) {
		t.Errorf("%+v", got)
	}
	if got.V[0] != 49.5 || got.V[8] != 849.5 {
		t.Errorf("means of 0 to 99 and of 800 to 899: %v", got.V)
	}
	few := (&Series{T: []int64{-5, 0, 7}, V: []float64{1, 2, 3}}).Thin(100)
	if !slices.Equal(few.T, []int64{0, 7}) || !slices.Equal(few.V, []float64{2, 3}) {
		t.Errorf("%+v", few)
	}
	for _, s := range []Series{{}, {T: []int64{-1}, V: []float64{1}}, {T: []int64{1, 2}, V: []float64{1}},
		{T: []int64{9, 1, 3}, V: []float64{1, 2, 3}}} {
		if got := s.Thin(10); len(got.T) != len(got.V) || len(got.T) > 10 {
			t.Errorf("%+v: %+v", s, got)
		}
	}
}
