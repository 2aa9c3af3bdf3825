// SPDX-License-Identifier: MIT

package results

import (
	"strings"
	"testing"
)

// How well the clocks agree is no delivery: a row that has it alone timed nothing.
func TestDeliveryColumns(t *testing.T) {
	const head = "schema_version,run_id,cell_id,role,verdict,"
	for _, x := range []struct {
		name, columns, fields string
		p50, clock            *float64
	}{
		{"the clocks alone", "delivery_p50_us,delivery_clock_us", ",15", nil, nil},
		{"times without clocks", "delivery_p50_us,delivery_clock_us", "7,", new(7.), nil},
		{"both", "delivery_p50_us,delivery_clock_us", "7,15", new(7.), new(15.)},
		{"neither", "delivery_p50_us,delivery_clock_us", ",", nil, nil},
	} {
		recs, err := ReadRuns(strings.NewReader(head + x.columns + "\n1,r,c,sut,ok," + x.fields + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := recs[0].SUT.Delivery
		if (d == nil) != (x.p50 == nil) {
			t.Errorf("%s: %+v", x.name, d)
			continue
		}
		if d != nil && (d.P50Us != *x.p50 || formatFloat(d.ClockUs) != formatFloat(x.clock)) {
			t.Errorf("%s: %+v, clocks %q", x.name, d, formatFloat(d.ClockUs))
		}
	}
}
