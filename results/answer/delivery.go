// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/results/stat"
)

// delayed adds to what is said of a cost at equal rates how long delivery took: the ratio of the
// p99, where it was measured with the cost. Who asked for a comparison of delivery times has it as
// a question of its own.
func (t *topic) delayed(c *clause, q *question, of []told, words string) {
	if q.work != "to receive" && q.work != "to send" ||
		slices.ContainsFunc(t.told, func(x told) bool { return x.row.Metric == deliveryP99 }) {
		return
	}
	var all []*stat.Ratio
	var found []Finding
	for _, x := range of {
		d := x.row.Delivery()
		if d == nil {
			continue
		}
		all = append(all, d)
		f := finding(x.row, open, d)
		f.Figure = deliveryP99
		found = append(found, f)
	}
	if all == nil {
		return
	}
	if !slices.ContainsFunc(all, func(r *stat.Ratio) bool { return *r.Lo > 1 || *r.Hi < 1 }) {
		words = ", with no difference shown in the p99 of delivery (%s)"
	}
	c.text += fmt.Sprintf(words, ratios(all))
	c.findings = append(c.findings, found...)
}

const deliveryP99 = "delivery_p99_us"

// delayOfB says whose delivery takes so many times as long, where two are not told apart in what
// they take.
func (t *topic) delayOfB() string {
	if t.setting {
		return "; the p99 of delivery with " + t.b + " is %s that with " + t.a
	}
	return "; the p99 of delivery of " + t.b + " is %s that of " + t.a
}

// ratios formats a ratio with its interval, and several by the least and the highest.
func ratios(all []*stat.Ratio) string {
	r := stat.Ratio{Value: all[0].Value, Lo: new(*all[0].Lo), Hi: new(*all[0].Hi)}
	least, most := r.Value, r.Value
	for _, q := range all[1:] {
		least, most = min(least, q.Value), max(most, q.Value)
		*r.Lo, *r.Hi = min(*r.Lo, *q.Lo), max(*r.Hi, *q.Hi)
	}
	text := times(least)
	if times(most) != text {
		text += " to " + times(most)
	}
	return text + " times " + interval(&r)
}
