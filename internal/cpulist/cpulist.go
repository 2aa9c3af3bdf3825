// SPDX-License-Identifier: MIT

// Package cpulist reads and writes lists of CPUs as the kernel does: "0,2-3".
package cpulist

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Format writes CPUs as the kernel does: "0,2-3". The order of cpus does
// not matter; none is "".
func Format(cpus []int) string {
	s := slices.Compact(slices.Sorted(slices.Values(cpus)))
	var parts []string
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(s[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s[i], s[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// maxCPUs bounds what a CPU list may name, so that a mistyped range does not
// become a gigabyte. The kernel's own limit is 8192.
const maxCPUs = 1 << 16

// Ranges are CPUs by their first and last, in order and apart from each other: of what somebody
// else wrote, they are no more than it is long.
type Ranges [][2]int

// ParseRanges reads what [Parse] reads.
func ParseRanges(s string) (Ranges, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	var out Ranges
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := parseCPU(from)
		if err != nil {
			return nil, fmt.Errorf("parse cpu list %.200q: %w", s, err)
		}
		hi := lo
		if isRange {
			if hi, err = parseCPU(to); err != nil {
				return nil, fmt.Errorf("parse cpu list %.200q: %w", s, err)
			}
		}
		if hi < lo {
			return nil, fmt.Errorf("parse cpu list %.200q: %d-%d runs backwards: write the lower CPU first", s, lo, hi)
		}
		out = append(out, [2]int{lo, hi})
	}
	return out.joined(), nil
}

// joined sorts and merges the ranges: the same CPUs, each once.
func (r Ranges) joined() Ranges {
	out := Ranges{}
	for _, x := range slices.SortedFunc(slices.Values(r), func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }) {
		if n := len(out); n > 0 && x[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], x[1])
		} else {
			out = append(out, x)
		}
	}
	return out
}

// Meet reports whether the two have a CPU in common.
func (r Ranges) Meet(o Ranges) bool {
	for i, k := 0, 0; i < len(r) && k < len(o); {
		switch {
		case r[i][1] < o[k][0]:
			i++
		case o[k][1] < r[i][0]:
			k++
		default:
			return true
		}
	}
	return false
}

// Within reports whether all CPUs are among others, whose ranges may be in any order.
func (r Ranges) Within(o Ranges) bool {
	o = o.joined()
	k := 0
	for _, x := range r {
		for k < len(o) && o[k][1] < x[0] {
			k++
		}
		if k == len(o) || x[0] < o[k][0] || x[1] > o[k][1] {
			return false
		}
	}
	return true
}

// Parse reads the kernel's list format, "0,2-3"; "" is none
// (lib/bitmap-str.c, without the rarely used ":" strides).
func Parse(s string) ([]int, error) {
	ranges, err := ParseRanges(s)
	if len(ranges) == 0 {
		return nil, err
	}
	var out []int
	for _, r := range ranges {
		for c := r[0]; c <= r[1]; c++ {
			out = append(out, c)
		}
	}
	return out, nil
}

func parseCPU(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n >= maxCPUs {
		return 0, fmt.Errorf("%.40q is not a CPU number: write lists such as 0,2-3", s)
	}
	return int(n), nil
}
