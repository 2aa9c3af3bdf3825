// SPDX-License-Identifier: MIT

// Package pairwise picks, from all combinations of some factors' values, a few in
// which every pair of values of two factors occurs: where a fault needs two values
// to meet, it shows in them as in the whole product.
package pairwise

import (
	"iter"
	"slices"

	"github.com/zcbench/zcbench/internal/long"
)

// Cover picks rows for factors of so many values each. row[f] is the number of the
// value of factor f, from 0 on. Every value of every factor is in some row, and so
// is every pair of values of two factors. The same sizes give the same rows. It
// looks at the whole product for each row: that is meant for some thousands.
func Cover(sizes ...int) (rows [][]int) {
	all := Product(sizes...)
	seen := map[pair]bool{}
	for {
		best, most := -1, 0
		for i, row := range all {
			if n := unseen(seen, row); n > most {
				best, most = i, n
			}
		}
		if best < 0 {
			return rows
		}
		for p := range pairs(all[best]) {
			seen[p] = true
		}
		rows = append(rows, all[best])
		all = slices.Delete(all, best, best+1)
	}
}

// Product lists all rows, of which Cover picks: the last factor changes fastest.
func Product(sizes ...int) [][]int {
	rows := [][]int{{}}
	for _, n := range sizes {
		var longer [][]int
		for _, row := range rows {
			for v := range n {
				longer = append(longer, append(slices.Clip(row), v))
			}
		}
		rows = longer
	}
	return rows
}

// pair is that factor f has value v, where factor g has value w.
type pair struct{ f, v, g, w int }

// pairs iterates over the pairs of a row. One factor alone has its values for pairs.
func pairs(row []int) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		if len(row) == 1 {
			yield(pair{v: row[0]})
		}
		for f, v := range row {
			for g, w := range row[:f] {
				if !yield(pair{f, v, g, w}) {
					return
				}
			}
		}
	}
}

func unseen(seen map[pair]bool, row []int) (n int) {
	for p := range pairs(row) {
		if !seen[p] {
			n++
		}
	}
	return n
}

// Rows returns the combinations that a test goes through: those of Cover, or the whole Product
// where what takes minutes is asked for.
func Rows(sizes ...int) [][]int {
	if long.Wanted() {
		return Product(sizes...)
	}
	return Cover(sizes...)
}
