// SPDX-License-Identifier: MIT

// Package cpulist reads and writes lists of CPUs as the kernel does: "0,2-3".
package cpulist

import (
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

// Parse reads the kernel's list format, "0,2-3"; "" is none
// (lib/bitmap-str.c, without the rarely used ":" strides).
func Parse(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := parseCPU(from)
		if err != nil {
			return nil, fmt.Errorf("parse cpu list %q: %w", s, err)
		}
		hi := lo
		if isRange {
			if hi, err = parseCPU(to); err != nil {
				return nil, fmt.Errorf("parse cpu list %q: %w", s, err)
			}
		}
		if hi < lo {
			return nil, fmt.Errorf("parse cpu list %q: %d-%d runs backwards: write the lower CPU first", s, lo, hi)
		}
		for c := lo; c <= hi; c++ {
			out = append(out, c)
		}
		if len(out) > maxCPUs {
			return nil, fmt.Errorf("parse cpu list %q: more than %d CPUs: name fewer", s, maxCPUs)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func parseCPU(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n >= maxCPUs {
		return 0, fmt.Errorf("%q is not a CPU number: write lists such as 0,2-3", s)
	}
	return int(n), nil
}
