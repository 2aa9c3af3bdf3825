// SPDX-License-Identifier: MIT

package judge

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

// A receiver that waits for its writes while payload waits for it is at its disk's limit. Where the
// window is small, and the receiver reads what comes, it is the window's; so is what nobody knows.
func TestDiskLimit(t *testing.T) {
	idle, held := side{thread: .4}, side{.5, .6, 0}
	for name, x := range map[string]struct {
		then     string
		gather   int
		sut, tg  []side
		unread   map[string]float64
		one, sum plan.LimitedBy
	}{
		"waits for writes": {"write:/d", 0, []side{idle}, []side{held}, map[string]float64{"": .95}, plan.ByDisk,
			plan.ByDisk},
		"reads what comes": {"write:/d", 0, []side{idle}, []side{held}, map[string]float64{"": .45}, plan.ByWindow,
			plan.ByWindow},
		"writes nothing": {"", 0, []side{idle}, []side{held}, map[string]float64{"": .95}, plan.ByWindow, plan.ByWindow},
		"gathers": {"write:/d", 50, []side{idle}, []side{held}, map[string]float64{"": .95}, plan.ByWindow,
			plan.ByWindow},
		"not known": {"write:/d", 0, []side{idle}, []side{held}, nil, plan.ByWindow, plan.ByWindow},
		"its thread is full": {"write:/d", 0, []side{{thread: .99}}, []side{held}, map[string]float64{"": 1},
			plan.ByReceiver, plan.ByReceiver},
		"the sender's buffer": {"write:/d", 0, []side{idle}, []side{{.5, 0, .6}}, map[string]float64{"": .8},
			plan.ByWindow, plan.ByWindow},
		"the sender's buffer, and a window that is never full": {"write:/d", 0, []side{idle}, []side{{.5, 0, .6}},
			map[string]float64{"": .95}, plan.ByDisk, plan.ByDisk},
		"nobody was held up": {"write:/d", 0, []side{idle}, []side{idle}, map[string]float64{"": .95}, "", ""},
		"both flows": {"write:/d", 0, []side{idle, idle}, []side{held, held},
			map[string]float64{"flow0_": .95, "flow1_": 1}, plan.ByDisk, plan.ByDisk},
		"one of two": {"write:/d", 0, []side{idle, idle}, []side{held, held},
			map[string]float64{"flow0_": .95, "flow1_": .2}, plan.ByDisk, ""},
	} {
		r := limitedRun(x.sut, x.tg, nil)
		r.Cell.Then = x.then
		if x.gather > 0 {
			r.Cell.GatherUs = &x.gather
		}
		for flow, v := range x.unread {
			r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: flow + measure.MetricThenUnread, Value: v})
		}
		if one, sum := flowLimit(&r, 0), FindLimit(&r); one != x.one || sum != x.sum {
			t.Errorf("%s: %q and %q, want %q and %q", name, one, sum, x.one, x.sum)
		}
	}
}
