// SPDX-License-Identifier: MIT

package metrics

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
)

// A name stands in one place, with as many units as names or one.
func TestSections(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Sections {
		for _, m := range s.Metrics {
			names, units := strings.Fields(m.Names), strings.Fields(m.Units)
			if len(names) == 0 || len(units) != 1 && len(units) != len(names) {
				t.Errorf("%s: %d names, %d units", m.Names, len(names), len(units))
			}
			for _, n := range names {
				if seen[s.Title+n] {
					t.Errorf("%s is there twice", n)
				}
				seen[s.Title+n] = true
			}
		}
	}
	for _, name := range []string{measure.MetricIdleState, measure.MetricGHz,
		measure.MetricForeignCores} {
		if !slices.ContainsFunc(Sections, func(s measure.MetricSection) bool { return seen[s.Title+name] }) {
			t.Errorf("%s is not described", name)
		}
	}
}

// A source that is in the list is on the page, behind those that have a place there; each area has
// one.
func TestOneLineAddsASource(t *testing.T) {
	doc := measure.MetricDoc{Names: "moon_phase", Units: "1", Source: "the sky", Meaning: "full at 1"}
	all := counted(append([]tally.Source{{Area: "moon", Doc: []measure.MetricDoc{doc}}}, tally.Sources...))
	last := all[len(all)-1]
	if len(all) != len(counted(tally.Sources))+1 || last != doc {
		t.Errorf("%d, the last %+v", len(all), last)
	}
	if err := measure.NewIndex(all).CheckRow("moon_phase", "1", "the sky"); err != nil {
		t.Error(err)
	}
	for _, s := range tally.Sources {
		if !slices.Contains(areas, s.Area) {
			t.Errorf("%s has no place", s.Area)
		}
	}
}

func TestCheckRow(t *testing.T) {
	for _, x := range []struct{ name, unit, source, want string }{
		{"flow_calls", "1", "data path", ""},
		{"flow_calls_per_mb", "1/MB", "data path", ""},
		{"cpuidle_cpu12_c1e_cores", "cores", "/sys/devices/system/cpu/cpuN/cpuidle", ""},
		{"cpuidle_cpux_entries", "1", "/sys/devices/system/cpu/cpuN/cpuidle", "no metric"},
		{"link_mtu", "bytes", "rtnetlink", ""},
		{"link_rx_crc_errors", "packets", "rtnetlink", ""},
		{"tcp_info_rtt_us", "us", "TCP_INFO", ""},
		{"power_bmc_idle_w", "W", "redfish=https://bmc", ""},
		{"flow_colour", "1", "data path", "no metric flow_colour"},
		{"xflow_calls", "1", "data path", "no metric"},
		{"flow_calls", "bytes", "data path", "in bytes, described in 1"},
		{"flow_calls", "1", "TCP_INFO", "described as of"},
	} {
		if err := CheckRow(x.name, x.unit, x.source); (err == nil) != (x.want == "") || err != nil &&
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}
