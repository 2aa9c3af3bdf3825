// SPDX-License-Identifier: MIT

package stream

import "testing"

func TestNICQueueCheck(t *testing.T) {
	neg, last := -1, 7
	for name, c := range map[string]struct {
		q  NICQueue
		ok bool
	}{
		"zero":         {NICQueue{}, true},
		"all":          {NICQueue{Queue: &last, SteerTo: &last, Area: AreaHuge, AreaBytes: 1 << 20, BufLen: 16384, RefillEntries: 4, CQEntries: 8, HoldBytes: 1}, true},
		"queue":        {NICQueue{Queue: &neg}, false},
		"steer":        {NICQueue{SteerTo: &neg}, false},
		"kind":         {NICQueue{Area: "disk"}, false},
		"area":         {NICQueue{AreaBytes: MaxAreaBytes + 1}, false},
		"short buffer": {NICQueue{BufLen: 2048}, false},
		"odd buffer":   {NICQueue{BufLen: 12288}, false},
		"long buffer":  {NICQueue{BufLen: 4 << 20}, false},
		"refill":       {NICQueue{RefillEntries: MaxRefillEntries + 1}, false},
		"cq":           {NICQueue{CQEntries: MaxCQEntries + 1}, false},
		"hold":         {NICQueue{HoldBytes: -1}, false},
	} {
		if err := c.q.check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
