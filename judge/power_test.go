// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// Idle power that changed over the run flags it beyond the limit, whatever that is, and makes it
// invalid where a file names the limit. One that was not measured fails nothing.
func TestIdleDrift(t *testing.T) {
	for _, x := range []struct {
		limit, sut, tg *float64
		want           string
	}{
		{nil, ptr(.5), ptr(.5), ""},
		{plan.DefaultGates().IdleDrift, ptr(.019), ptr(.021),
			"TG: idle power before and after the run differs by 2.1 % (limit 2 %)"},
		{ptr(.03), nil, nil, ""},
		{ptr(.03), ptr(.02), ptr(.03), ""},
		{ptr(.03), ptr(.02), ptr(.041), "TG: idle power before and after the run differs by 4.1 % (limit 3 %)"},
		{ptr(.0), ptr(.001), nil, "SUT: idle power before and after the run differs by 0.1 % (limit 0 %)"},
	} {
		r := ok(10)
		r.SUT.PowerIdleDrift, r.TG.PowerIdleDrift = x.sut, x.tg
		marked := r
		Run(plan.Gates{IdleDrift: x.limit}, &marked)
		if marked.Verdict != results.OK || slices.Contains(marked.Flags, power.FlagIdleDrift) != (x.want != "") ||
			slices.Contains(marked.Warnings, x.want) != (x.want != "") {
			t.Errorf("%v of %v, %v, not named: %s, %q %q", x.limit, x.sut, x.tg, marked.Verdict, marked.Flags,
				marked.Warnings)
		}
		Run(plan.Gates{IdleDrift: x.limit, Asked: []string{plan.IdleDriftGate}}, &r)
		if (r.Verdict == results.Invalid) != (x.want != "") || r.Reason != x.want ||
			strings.Contains(r.Fix, "settle") != (x.want != "") {
			t.Errorf("%v of %v, %v: %s %q", x.limit, x.sut, x.tg, r.Verdict, r.Reason)
		}
	}
}
