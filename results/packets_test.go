// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
)

// From counters of a real run over veth: sendfile, IPv4.
func TestPacketSizes(t *testing.T) {
	counters := func(in, received, segments, out, sent float64) (ms []measure.Metric) {
		for name, v := range map[string]float64{"netstat_ip_ext_in_octets": in, "netstat_ip_in_receives": received,
			"netstat_ip_ext_in_no_ect_pkts": segments,
			"netstat_ip_ext_out_octets":     out, "netstat_ip_out_requests": sent} {
			ms = append(ms, measure.Metric{Name: name, Value: v})
		}
		return ms
	}
	for _, x := range []struct {
		name string
		ms   []measure.Metric
		want map[string]float64
	}{
		{"receiver", counters(421942416, 7348, 102920, 77136, 1482),
			map[string]float64{measure.MetricRXPacketBytes: 57422.757,
				measure.MetricRXPacketSegments: 14.0065}},
		{"sender", counters(77136, 1482, 1482, 421942416, 7348),
			map[string]float64{measure.MetricTXPacketBytes: 57422.757}},
		{"loopback: both ways", counters(4e8, 9e3, 1e5, 4e8, 9e3), nil},
		{"nothing", nil, nil},
	} {
		got := map[string]float64{}
		for _, m := range PacketSizes(x.ms) {
			got[m.Name] = m.Value
		}
		if len(got) != len(x.want) {
			t.Errorf("%s: %v", x.name, got)
		}
		for name, v := range x.want {
			if math.Abs(got[name]-v) > v/1e5 {
				t.Errorf("%s: %s is %g, want %g", x.name, name, got[name], v)
			}
		}
	}
}
