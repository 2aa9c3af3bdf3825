// SPDX-License-Identifier: MIT

package cpulist

import (
	"slices"
	"testing"
)

func TestFlag(t *testing.T) {
	for in, want := range map[string][]int{"3": {3}, "-1": {-1}, "0,1": {0, 1}, "1,1": {1, 1}} {
		var l Flag
		if err := l.Set(in); err != nil || !slices.Equal(l, want) || l.String() != in {
			t.Errorf("%s: %v, %v, shown as %s", in, l, err, l.String())
		}
	}
	for _, bad := range []string{"", "x", "1,", "0,-1", "-2", "1 2", "1,,2"} {
		l := Flag{7}
		if err := l.Set(bad); err == nil || l.String() != "7" {
			t.Errorf("%q was read as %v", bad, l)
		}
	}
}
