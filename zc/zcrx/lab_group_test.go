// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Several flows share one queue, and arrive without a copy.
func TestLabGroup(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		labtest.GroupArrives(t, zcrx.Mode, groups(t, 4))
	}
}

// One flow of a group is steered elsewhere, and the others are not.
func TestLabGroupWrongQueue(t *testing.T) {
	labtest.Need(t)
	labtest.GroupWrongQueue(t, groups(t, 6))
}

// A NIC that leaves all payload in linear parts is given away by the queue's page pool: every flow
// has its part of that, and none more than it brought.
func TestLabGroupLinear(t *testing.T) {
	labtest.Need(t)
	defer labtest.CopySmall(t, 8192)(nil)()
	all := groups(t, 8)
	all[0].NIC.AreaBytes = 8 << 20
	labtest.Grouped(t, all, func(x labtest.Transfer, o labtest.Outcome) {
		c, e := o.Counters, o.Evidence
		if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || e.Uncounted < c.Bytes/2 || e.Uncounted > c.ZeroCopyBytes {
			t.Errorf("%+v; uncounted %d", c, e.Uncounted)
		}
		told := slices.ContainsFunc(e.Notes,
			func(note string) bool { return strings.Contains(note, "copied without being counted") })
		if !told || !strings.Contains(e.Why, "linear part") || e.Fix == "" {
			t.Errorf("why %q, fix %q, notes %q", e.Why, e.Fix, e.Notes)
		}
	})
}

// groups are the flows of one queue.
func groups(t testing.TB, mib int) []labtest.Transfer {
	return labtest.Groups(t, mib, labtest.Opener(zcrx.New))
}
