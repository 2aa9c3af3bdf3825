// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// many is a set of cells that differ in the size of messages, and maybe in more.
func many(n int, change func(i int, c *Cell)) *Set {
	s := &Set{Name: "many"}
	for i := range n {
		c := Cell{Cell: plan.Cell{ID: fmt.Sprint(i), RX: "tcp", TX: "tcp", MessageBytes: 4096 + i}}
		if change != nil {
			change(i, &c)
		}
		s.Cells = append(s.Cells, c)
	}
	return s
}

// Cells of which all is known are not held against each other one by one; what is found is what is
// alike, also among older and published ones.
func TestMatchLooksAtFew(t *testing.T) {
	a, b := many(3000, nil), many(3000, func(i int, c *Cell) { c.Cell.RX = "uring" })
	l := newLikes(b, nil)
	for i := range a.Cells {
		if found, err := l.of(&a.Cells[i]); len(found) != 0 || err != nil {
			t.Fatal(found, err)
		}
	}
	if l.held != 0 {
		t.Errorf("%d cells were looked at", l.held)
	}
	pairs, onlyA, onlyB, err := match(a, many(3000, nil))
	if err != nil || len(pairs) != 3000 || onlyA != nil || onlyB != nil || pairs[7].b.Cell.ID != "7" {
		t.Errorf("%d pairs, %d and %d alone, %v", len(pairs), len(onlyA), len(onlyB), err)
	}
	odd := func(i int, c *Cell) {
		switch i % 4 {
		case 1:
			c.Source, c.Cell.MessageBytes = "a page", 0
		case 2:
			c.Runs = []*results.Record{{Schema: 1}}
		}
	}
	a, b = many(40, odd), many(60, odd)
	for _, chosen := range [][]string{nil, {"message"}} {
		a.Chosen = chosen
		var want [][2]string
		for i := range a.Cells {
			for k := range b.Cells {
				if alike(&a.Cells[i], &b.Cells[k], chosen) {
					want = append(want, [2]string{a.Cells[i].Cell.ID, b.Cells[k].Cell.ID})
				}
			}
		}
		var got [][2]string
		pairs, _, _, err := match(a, b)
		for _, p := range pairs {
			got = append(got, [2]string{p.a.Cell.ID, p.b.Cell.ID})
		}
		if err != nil || !slices.Equal(got, want) || len(want) < 40 {
			t.Errorf("%v: %d pairs, want %d, %v", chosen, len(got), len(want), err)
		}
	}
}

// Where all of many are alike, or none can be told from another, nobody waits for the end.
func TestMatchIsBounded(t *testing.T) {
	published := many(3000, func(_ int, c *Cell) { c.Source = "a page" })
	for name, x := range map[string]struct {
		a, b *Set
		says string
	}{"pairs": {many(300, nil), many(300, nil), "pairs of cells"}, "published": {published, published,
		"published or older"}} {
		x.a.Chosen = map[string][]string{"pairs": {"message"}}[name]
		if _, err := Compare(x.a, x.b, Metrics[:1]); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
