// SPDX-License-Identifier: MIT

package nic

import "testing"

func TestRuleRoom(t *testing.T) {
	for _, x := range []struct {
		t     ruleTable
		want  int
		known bool
	}{
		{ruleTable{size: 4}, 4, true},
		{ruleTable{size: 4, places: []uint32{3, 1}}, 2, true},
		{ruleTable{size: 2, places: []uint32{0, 1}}, 0, true},
		{ruleTable{size: 1, places: []uint32{0, 1}}, 0, true},
		{ruleTable{places: []uint32{0}}, 0, false},
	} {
		if n, known := x.t.room(); n != x.want || known != x.known {
			t.Errorf("%+v: %d, known: %v", x.t, n, known)
		}
	}
}
