// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Several flows share one queue, as the connections of a server do: one receiver moves all on one
// thread, every byte of each arrives without a copy, and nothing is left.
func TestLabGroup(t *testing.T) {
	labtest.Need(t)
	labtest.Grouped(t, groups(4), func(x labtest.Transfer, o labtest.Outcome) {
		if c := o.Counters; c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || c.ZeroCopyBytes != c.Bytes || c.CopiedBytes+c.LinearBytes+o.Evidence.Uncounted != 0 {
			t.Errorf("%d bytes: %+v; %s", x.Bytes, c, o.Evidence.Why)
		}
		if on, want := o.Figure("zcrx_flow_queue"), o.Figure("zcrx_queue"); on != want || o.Figure("zcrx_provider_bound") != 1 || len(o.Evidence.Notes) > 0 {
			t.Errorf("it came by queue %v, not %v; notes %q", on, want, o.Evidence.Notes)
		}
	})
}

// One flow of a group is steered elsewhere: it is copied and says where it went, and the others
// are not.
func TestLabGroupWrongQueue(t *testing.T) {
	labtest.Need(t)
	all, elsewhere := groups(6), 0
	all[1].NIC.SteerTo = &elsewhere
	labtest.Grouped(t, all, func(x labtest.Transfer, o labtest.Outcome) {
		c, astray := o.Counters, x.NIC.SteerTo != nil
		if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || astray && c.CopiedBytes < c.Bytes/100*99 || !astray && c.ZeroCopyBytes != c.Bytes {
			t.Errorf("steered elsewhere: %v, %+v", astray, c)
		}
		if landed := strings.Contains(o.Evidence.Why, "the flow landed on queue 0, the provider is on queue 3"); landed != astray {
			t.Errorf("steered elsewhere: %v, why %q", astray, o.Evidence.Why)
		}
	})
}

// A NIC that leaves all payload in linear parts is given away by the queue's page pool: every flow
// has its part of that, and none more than it brought.
func TestLabGroupLinear(t *testing.T) {
	labtest.Need(t)
	defer labtest.CopySmall(t, 8192)(nil)()
	all := groups(8)
	all[0].NIC.AreaBytes = 8 << 20
	labtest.Grouped(t, all, func(x labtest.Transfer, o labtest.Outcome) {
		c, e := o.Counters, o.Evidence
		if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || e.Uncounted < c.Bytes/2 || e.Uncounted > c.ZeroCopyBytes {
			t.Errorf("%+v; uncounted %d", c, e.Uncounted)
		}
		told := slices.ContainsFunc(e.Notes, func(note string) bool { return strings.Contains(note, "copied without being counted") })
		if !told || !strings.Contains(e.Why, "linear parts") || e.Fix == "" {
			t.Errorf("why %q, fix %q, notes %q", e.Why, e.Fix, e.Notes)
		}
	})
}

// groups are the flows of one queue.
func groups(mib int) (all []labtest.Transfer) {
	for i := range long.Rounds(2, 4) {
		all = append(all, labtest.Transfer{Family: []string{"ipv4", "ipv6"}[i%2], Bytes: (i + 1) * mib << 20, Open: labtest.Opener(zcrx.New)})
	}
	return all
}
