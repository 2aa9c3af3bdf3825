// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// The first source is the host's power, also where it has no figure: another never takes its place.
func TestEnterPower(t *testing.T) {
	host := func() *results.Host {
		return &results.Host{DurationS: new(10.0), Bytes: new(uint64(20e9)), ThroughputGbps: new(16.0)}
	}
	wall := power.Figure{Source: "meter", Scope: power.ScopeWall, GrossW: new(300.0), IdleW: new(100.0),
		Metrics: []measure.Metric{{Name: "power_meter_w"}}, Series: []measure.Series{{Name: "power_meter_w"}}}
	none := power.Figure{Source: "bmc", Why: "no reading", Flags: []string{power.FlagMissing}}

	h := host()
	if warn, flags := enterPower(h, []power.Figure{wall}); warn != nil || flags != nil {
		t.Errorf("%v %v", warn, flags)
	}
	if *h.PowerW != 300 || *h.PowerIdleW != 100 || h.PowerSource != "meter" ||
		h.PowerScope != string(power.ScopeWall) ||
		*h.JoulePerGB() != 150 || len(h.Series) != 1 || len(h.Metrics) != 3 {
		t.Errorf("%+v, %v J/GB", h, *h.JoulePerGB())
	}
	h = host()
	warn, flags := enterPower(h, []power.Figure{none, wall})
	if h.PowerW != nil || h.PowerSource != "bmc" || len(warn) != 1 || flags[0] != power.FlagMissing {
		t.Errorf("power_w %v of %s, warnings %v, flags %v", h.PowerW, h.PowerSource, warn, flags)
	}
}
