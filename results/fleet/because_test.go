// SPDX-License-Identifier: MIT

package fleet

import "testing"

// A verdict is named after its figure: rates are faster, returns on cost higher, costs cheaper.
func TestWordsOfVerdicts(t *testing.T) {
	for _, x := range []struct {
		metric        string
		higher        bool
		worse, better string
	}{{"throughput_gbps", true, "slower", "faster"}, {"roi_cpu_total", true, "lower", "higher"},
		{"ns_per_kb", false, "costlier", "cheaper"}} {
		f := &Fleet{Metric: x.metric, HigherWins: x.higher}
		if worse, better := f.Word(Worse), f.Word(Better); worse != x.worse || better != x.better ||
			f.Word(tooFewRuns) != string(tooFewRuns) {
			t.Errorf("%s: %s, %s", x.metric, worse, better)
		}
	}
}
