// SPDX-License-Identifier: MIT

package compare

import "testing"

// Of cells with paces each comparison that was declared asks one thing: at a pace what it takes,
// and else how much is delivered. Without paces both count.
func TestOneQuestionEach(t *testing.T) {
	at := tcp
	at.PacePercent = 50
	search := tcp
	search.LossFree = true
	for _, x := range []struct {
		metric, factor string
		row            Row
		paces, counts  bool
	}{
		{"throughput_gbps", "rx", Row{A: tcp, B: tcp}, true, true},
		{"ns_per_kb", "rx", Row{A: tcp, B: tcp}, true, false},
		{"roi_cpu_total", "rx", Row{A: tcp, B: tcp}, true, false},
		{"ns_per_kb", "rx", Row{A: at, B: at}, true, true},
		{"throughput_gbps", "rx", Row{A: at, B: at}, true, false},
		{"cycles_per_byte", "rx", Row{A: at, B: at}, true, false},
		{"tg_ns_per_kb", "tx", Row{A: at, B: at}, true, true},
		{"ns_per_kb", "tx", Row{A: at, B: at}, true, false},
		{"tg_ns_per_kb", "rx", Row{A: at, B: at}, true, false},
		{"ns_per_kb", "rx", Row{A: tcp, B: tcp}, false, true},
		{"roi_cpu_total", "rx", Row{A: tcp, B: tcp}, false, true},
		{"packets_per_s", "rx", Row{A: search, B: search}, true, true},
		{"ns_per_kb", "rx", Row{A: at, B: at, Exploratory: true}, true, false},
	} {
		x.row.Metric, x.row.Factor = x.metric, x.factor
		if got := x.row.counts(x.paces); got != x.counts {
			t.Errorf("%s by %s, paced %t, of a plan with paces %t: %t", x.metric, x.factor, x.row.paced(), x.paces, got)
		}
	}
}
