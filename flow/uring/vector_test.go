// SPDX-License-Identifier: MIT

package uring

import "testing"

// Pieces that follow each other in memory are one, others are not; emptied, it begins anew.
func TestVector(t *testing.T) {
	b := make([]byte, 100)
	var v Vector
	for range 2 {
		v.Empty()
		for _, p := range [][]byte{b[:10], b[10:30], b[40:50], b[30:40], b[40:41]} {
			v.Add(p)
		}
		var got []int
		for _, p := range v.pieces {
			got = append(got, int(p.Len))
		}
		if len(got) != 3 || got[0] != 30 || got[1] != 10 || got[2] != 11 {
			t.Errorf("%d bytes", got)
		}
	}
}
