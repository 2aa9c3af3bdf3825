// SPDX-License-Identifier: MIT

package nic

import (
	"slices"
	"testing"
)

func TestWithout(t *testing.T) {
	for _, c := range []struct {
		table    []uint32
		queue, n int
		want     []uint32
		changed  bool
	}{
		{[]uint32{0, 1, 2, 3, 0, 1, 2, 3}, 3, 4, []uint32{0, 1, 2, 0, 0, 1, 2, 1}, true},
		{[]uint32{0, 1, 0, 1}, 0, 2, []uint32{1, 1, 1, 1}, true},
		{[]uint32{0, 1, 0, 1}, 3, 4, []uint32{0, 1, 0, 1}, false},
		{[]uint32{2, 2, 2}, 2, 3, []uint32{0, 1, 0}, true},
	} {
		got, changed := without(c.table, c.queue, c.n)
		if !slices.Equal(got, c.want) || changed != c.changed {
			t.Errorf("%v without %d of %d: %v, %v", c.table, c.queue, c.n, got, changed)
		}
	}
}

func TestIsDefault(t *testing.T) {
	if !isDefault([]uint32{0, 1, 2, 0, 1}, 3) || isDefault([]uint32{0, 1, 1}, 3) || isDefault([]uint32{1, 1}, 1) {
		t.Error("wrong")
	}
}
