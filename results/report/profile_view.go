// SPDX-License-Identifier: MIT

package report

// maxFunctions is the most functions of one end that a table shows, those with the most time,
// unless it is told otherwise.
const maxFunctions = 15

// addProfile adds the rows of an end's profile, if there is one.
func (v *probeView) addProfile(p *profile, most int, row func(name, dim string, fields ...string) probeRow) {
	if p == nil {
		return
	}
	for _, c := range p.Classes {
		v.Classes = append(v.Classes, row(c.Name, "", partFields(p, &c)...))
	}
	for _, f := range p.Functions[:min(most, len(p.Functions))] {
		all := partFields(p, &f)
		last := len(all) - 1 // per packet of the wire
		fields := append(all[:last:last], median(f.TotalKB, plain), f.Where, f.Class, all[last])
		v.Functions = append(v.Functions, row(f.Name, "", fields...))
	}
}

// partFields formats a part's time, its interval, its share of the busy time, and its time per
// packet, after GRO and on the wire.
func partFields(p *profile, x *profilePart) []string {
	var share *float64
	if p.Busy != nil && p.Busy.Median > 0 {
		share = new(100 * x.PerKB.Median / p.Busy.Median)
	}
	return []string{median(x.PerKB, plain), interval(x.PerKB, plain), digits(share), median(x.PerPacket, plain),
		median(x.PerWire, plain)}
}

// plain shows about three digits.
func plain(v float64) string { return digits(&v) }
