// SPDX-License-Identifier: MIT

package cli

import (
	"slices"
	"testing"
)

func TestCPUList(t *testing.T) {
	for in, want := range map[string][]int{"3": {3}, "-1": {-1}, "0,1": {0, 1}, "1,1": {1, 1}} {
		var l CPUList
		if err := l.Set(in); err != nil || !slices.Equal(l, want) || l.String() != in {
			t.Errorf("%s: %v, %v, shown as %s", in, l, err, l.String())
		}
	}
	for _, bad := range []string{"", "x", "1,", "0,-1", "-2", "1 2", "1,,2"} {
		l := CPUList{7}
		if err := l.Set(bad); err == nil || l.String() != "7" {
			t.Errorf("%q was read as %v", bad, l)
		}
	}
}
