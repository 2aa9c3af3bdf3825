// SPDX-License-Identifier: MIT

// Package resultstest damages results for tests.
package resultstest

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

// Corrupt changes a journal as broken disks, editors and malice do. It may change
// b itself.
func Corrupt(r *rand.Rand, b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	return corruptions[r.IntN(len(corruptions))](r, b)
}

var corruptions = []func(*rand.Rand, []byte) []byte{
	func(r *rand.Rand, b []byte) []byte { b[r.IntN(len(b))] ^= 1 << r.IntN(8); return b },
	func(r *rand.Rand, b []byte) []byte { b[r.IntN(len(b))] = byte(r.Uint32()); return b },
	func(r *rand.Rand, b []byte) []byte { // a piece is gone
		i := r.IntN(len(b))
		return append(b[:i], b[min(i+1+r.IntN(300), len(b)):]...)
	},
	func(r *rand.Rand, b []byte) []byte { // a piece is there twice
		i := r.IntN(len(b))
		end := min(i+1+r.IntN(2000), len(b))
		return bytes.Join([][]byte{b[:end], b[i:]}, nil)
	},
	func(r *rand.Rand, b []byte) []byte { // zeros, as after a power cut
		i := r.IntN(len(b))
		clear(b[i:min(i+512, len(b))])
		return b
	},
	func(r *rand.Rand, b []byte) []byte { // two lines change places
		l := bytes.SplitAfter(b, []byte("\n"))
		i, j := r.IntN(len(l)), r.IntN(len(l))
		l[i], l[j] = l[j], l[i]
		return bytes.Join(l, nil)
	},
	func(r *rand.Rand, b []byte) []byte { // a value is another one
		values := []string{"-1", "1e308", "18446744073709551616", "null", `"` + strings.Repeat("x", 70_000) + `"`,
			"[[[[]]]]", "{}", "true", `"\ud800"`, "1e-400"}
		at := colons(b)
		i := at[r.IntN(len(at))] + 1
		end := i + bytes.IndexAny(append(bytes.Clone(b[i:]), '}'), ",}]")
		return bytes.Join([][]byte{b[:i], []byte(values[r.IntN(len(values))]), b[end:]}, nil)
	},
}

func colons(b []byte) (at []int) {
	for i, c := range b {
		if c == ':' {
			at = append(at, i)
		}
	}
	return append(at, 0)
}
