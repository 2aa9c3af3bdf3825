// SPDX-License-Identifier: MIT

package pairwise

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
)

const _ = kind.Pure

// Every value and every pair of values is there, in no more rows than said, of
// which none is there twice.
func TestCover(t *testing.T) {
	for _, x := range []struct {
		sizes []int
		most  int // rows
	}{
		{[]int{5}, 5},
		{[]int{4, 6}, 24},
		{[]int{2, 2, 2}, 4},
		{[]int{6, 2, 2}, 12},
		{[]int{2, 6, 2}, 12},
		{[]int{2, 2, 6}, 12},
		{[]int{3, 3, 3}, 11},
		{[]int{3, 3, 3, 3}, 12},
		{[]int{2, 2, 2, 2, 2, 2, 2, 2}, 9},
		{[]int{7, 2, 8, 8}, 80},
		{[]int{1, 3, 1, 2}, 6},
	} {
		rows := Cover(x.sizes...)
		if len(rows) > x.most {
			t.Errorf("%v: %d rows, want at most %d", x.sizes, len(rows), x.most)
		}
		if missing := missing(rows, x.sizes); len(missing) > 0 {
			t.Errorf("%v: not there: %v", x.sizes, missing)
		}
		once := map[string]bool{}
		for _, row := range rows {
			once[fmt.Sprint(row)] = true
		}
		if len(once) != len(rows) {
			t.Errorf("%v: a row is there twice: %v", x.sizes, rows)
		}
		if again := Cover(x.sizes...); !reflect.DeepEqual(rows, again) {
			t.Errorf("%v: %v, then %v", x.sizes, rows, again)
		}
	}
}

// missing are the pairs of values that are in no row, found without what Cover
// counts by, and values that there are not.
func missing(rows [][]int, sizes []int) (all []string) {
	for f, n := range sizes {
		for _, row := range rows {
			if len(row) != len(sizes) || row[f] < 0 || row[f] >= n {
				all = append(all, fmt.Sprint("a row ", row))
			}
		}
		for v := range n {
			for g, m := range sizes {
				for w := range m {
					there := func(row []int) bool { return row[f] == v && row[g] == w }
					if (f != g || v == w) && !slices.ContainsFunc(rows, there) {
						all = append(all, fmt.Sprintf("%d of %d with %d of %d", v, f, w, g))
					}
				}
			}
		}
	}
	return all
}

// What TestCover asks of rows can fail.
func TestMissing(t *testing.T) {
	if got := missing([][]int{{0, 0}, {1, 1}, {0, 1}}, []int{2, 2}); len(got) != 2 { // from either side
		t.Errorf("%v", got)
	}
	if got := missing([][]int{{0, 2}, {0, 0}, {0, 1}}, []int{1, 2}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestProduct(t *testing.T) {
	for _, x := range []struct {
		sizes []int
		want  [][]int
	}{
		{nil, [][]int{{}}},
		{[]int{2}, [][]int{{0}, {1}}},
		{[]int{2, 3}, [][]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}},
		{[]int{2, 0}, nil},
	} {
		if got := Product(x.sizes...); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%v: %v, want %v", x.sizes, got, x.want)
		}
	}
	rows := Product(2, 2, 2)
	rows[0][2] = 9 // belongs to its row alone
	if rows[1][2] != 1 || rows[2][2] != 0 {
		t.Errorf("%v", rows)
	}
}

// What takes minutes runs all combinations, and what does not a few.
func TestRows(t *testing.T) {
	t.Setenv(long.Env, "")
	few := Rows(6, 2, 2)
	t.Setenv(long.Env, "1")
	all := Rows(6, 2, 2)
	if len(few) != 12 || len(all) != 24 {
		t.Errorf("%d rows, and %d in the long run", len(few), len(all))
	}
	for _, row := range few {
		if !slices.ContainsFunc(all, func(r []int) bool { return slices.Equal(r, row) }) {
			t.Errorf("%v is not in the long run", row)
		}
	}
}
