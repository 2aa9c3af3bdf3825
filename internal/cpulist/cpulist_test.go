// SPDX-License-Identifier: MIT

package cpulist

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func TestCPUList(t *testing.T) {
	for _, tt := range []struct {
		in   string
		cpus []int
		out  string
	}{
		{"", nil, ""}, {"0\n", []int{0}, "0"}, {"0,2-3", []int{0, 2, 3}, "0,2-3"},
		{"3,1,2,2,7", []int{1, 2, 3, 7}, "1-3,7"}, {"5-5", []int{5}, "5"},
	} {
		got, err := Parse(tt.in)
		if err != nil || !slices.Equal(got, tt.cpus) {
			t.Errorf("Parse(%q) = %v, %v; want %v", tt.in, got, err, tt.cpus)
		}
		if s := Format(got); s != tt.out {
			t.Errorf("Format(%v) = %q, want %q", got, s, tt.out)
		}
	}
	for _, bad := range []string{"a", "1-", "-1", "3-1", "1,,2", "65536", "0-4294967295", "1 2"} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", bad, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0,2-3")
	f.Add("0-65535,0-65535")
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(Format(cpus))
		if err != nil || !slices.Equal(cpus, again) {
			t.Errorf("%q: %v became %v (%v)", s, cpus, again, err)
		}
	})
}
