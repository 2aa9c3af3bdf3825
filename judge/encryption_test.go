// SPDX-License-Identifier: MIT

package judge

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A NIC that has the keys of a run and does too little of its work spoils it, at either end, also
// where its counter did not move at all. One that does not count does not. Of several interfaces it
// is what all did.
func TestNICEncrypted(t *testing.T) {
	const rx, tx = "ethtool_rx_tls_decrypted_bytes", "ethtool_tx_tls_encrypted_bytes"
	count := func(name string, v float64) []measure.Metric { return []measure.Metric{{Name: name, Value: v}} }
	devs := func(name string, v ...float64) (all []measure.Metric) {
		for i, v := range v {
			all = append(all, measure.Metric{Name: measure.DevMetric(i, "link_rx_bytes"), Value: 600})
			if v >= 0 { // it counts
				all = append(all, measure.Metric{Name: measure.DevMetric(i, name), Value: v})
			}
		}
		return all
	}
	for _, x := range []struct {
		tls     string
		sut, tg []measure.Metric
		idle    string
		say     string
	}{
		{"ktls-hw", count(rx, 1000), count(tx, 950), "", ""},
		{"ktls-hw", nil, nil, "", ""},
		{"ktls-hw", count(rx, 400), count(tx, 1000), "", "SUT: tls ktls-hw: the NIC has the keys, but by " + rx},
		{"ktls-hw", count(rx, 1000), count(tx, 800), "", "TG: tls ktls-hw"},
		{"ktls-hw", nil, count(tx, 1000), rx, "did 0 %"},
		{"ktls-hw", devs(rx, 500, 500), devs(tx, 480, 480), "", ""},
		{"ktls-hw", devs(rx, 500, 100), devs(tx, 500, 500), "", "SUT: tls ktls-hw"},
		{"ktls-hw", devs(rx, 500, 500), devs(tx, 500, -1), "dev1_" + rx, ""},
		{"ktls-hw", devs(rx, 500, -1), nil, "dev1_" + rx, "did 50 %"},
		{"ktls", nil, nil, rx, ""}, {"user", nil, nil, rx, ""},
	} {
		r := &results.Record{Cell: plan.Cell{RX: "tcp", TX: "tcp", TLS: x.tls}, Verdict: results.OK}
		r.SUT.Bytes, r.TG.Bytes = new(uint64(1000)), new(uint64(1000))
		r.SUT.Metrics, r.TG.Metrics = x.sut, x.tg
		if x.idle != "" {
			r.SUT.Idle = []string{x.idle}
		}
		nicEncrypted(r)
		if (r.Verdict == results.OK) != (x.say == "") || !strings.Contains(r.Reason, x.say) ||
			(r.Fix != "") != (x.say != "") {
			t.Errorf("%+v: %s: %s (%s)", x, r.Verdict, r.Reason, r.Fix)
		}
	}
}
