// SPDX-License-Identifier: MIT

package nic

import (
	"slices"
	"testing"
)

func TestWithout(t *testing.T) {
	for _, c := range []struct {
		table []uint32
		out   []int
		n     int
		want  []uint32
	}{
		{[]uint32{0, 1, 2, 3, 0, 1, 2, 3}, []int{3}, 4, []uint32{0, 1, 2, 0, 0, 1, 2, 1}},
		{[]uint32{0, 1, 0, 1}, []int{0}, 2, []uint32{1, 1, 1, 1}},
		{[]uint32{0, 1, 0, 1}, []int{3}, 4, []uint32{0, 1, 0, 1}},
		{[]uint32{2, 2, 2}, []int{2}, 3, []uint32{0, 1, 0}},
		// None of those that are out gets an entry of another one that is.
		{[]uint32{0, 1, 2, 3, 0, 1, 2, 3}, []int{2, 3}, 4, []uint32{0, 1, 0, 1, 0, 1, 0, 1}},
		{[]uint32{0, 1, 2, 0, 0, 1, 2, 1}, []int{3, 2}, 4, []uint32{0, 1, 0, 0, 0, 1, 1, 1}},
		{[]uint32{0, 1, 2, 3}, []int{1, 2, 3}, 4, []uint32{0, 0, 0, 0}},
		// Nor one that somebody has kept out.
		{[]uint32{0, 1, 0, 1}, []int{1}, 4, []uint32{0, 0, 0, 0}},
		{[]uint32{2, 1, 2, 1}, []int{1, 2}, 4, []uint32{0, 3, 0, 3}},
		{[]uint32{0, 1}, []int{0, 1}, 2, []uint32{0, 1}},
	} {
		if got := without(c.table, c.out, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%v without %v of %d: %v, want %v", c.table, c.out, c.n, got, c.want)
		}
	}
}

func TestIsDefault(t *testing.T) {
	if !isDefault([]uint32{0, 1, 2, 0, 1}, 3) || isDefault([]uint32{0, 1, 1}, 3) || isDefault([]uint32{1, 1}, 1) {
		t.Error("wrong")
	}
}

// Zeros are not the table where rx-hashing was switched off; in all other cases they are.
func TestTableHidden(t *testing.T) {
	zeros := make([]uint32, 8)
	off := Feature{Known: true, Hard: true}
	for name, x := range map[string]struct {
		table   []uint32
		queues  int
		hashing Feature
		want    bool
	}{
		"off":                 {zeros, 4, off, true},
		"on":                  {zeros, 4, Feature{Known: true, Hard: true, Wanted: true, Active: true}, false},
		"off, and shown":      {[]uint32{0, 0, 1, 0}, 4, off, false},
		"one queue":           {zeros, 1, off, false},
		"never on":            {zeros, 4, Feature{Known: true}, false},
		"the driver's choice": {zeros, 4, Feature{Known: true, Hard: true, Wanted: true}, false},
		"an old kernel":       {zeros, 4, Feature{}, false},
	} {
		if got := tableHidden(x.table, x.queues, x.hashing); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
