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
		{"both, in another order", "delivery_clock_us,delivery_p50_us", "15,7", new(7.), new(15.)},
		{"the clocks alone, first", "delivery_clock_us,delivery_p50_us", "15,", nil, nil},
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
		if d != nil && (*d.P50Us != *x.p50 || formatFloat(d.ClockUs) != formatFloat(x.clock)) {
			t.Errorf("%s: %+v, clocks %q", x.name, d, formatFloat(d.ClockUs))
		}
	}
}

// A time that a file lacks, or leaves empty, was not measured: neither figure, nor column, nor
// metric of 0.
func TestDeliveryLacking(t *testing.T) {
	const head = "schema_version,run_id,cell_id,role,verdict,"
	for columns, fields := range map[string]string{
		"delivery_p99_us": "9",
		"delivery_p50_us,delivery_p99_us,delivery_p999_us":   ",9,",
		"delivery_p50_us,delivery_p99_us,delivery_clock_us":  ",9,",
		"delivery_p999_us,delivery_clock_us,delivery_p99_us": ",,9",
	} {
		recs, err := ReadRuns(strings.NewReader(head + columns + "\n1,r,c,sut,ok," + fields + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := recs[0].SUT.Delivery
		if d == nil || *d.P99Us != 9 || d.Check() != nil {
			t.Fatalf("%s: %+v", columns, d)
		}
		for name, v := range d.figures() {
			if (*v != nil) != (name == "p99") {
				t.Errorf("%s: %s is %q", columns, name, formatFloat(*v))
			}
		}
		for _, m := range d.Metrics() {
			if m.Name != "delivery_p99_us" {
				t.Errorf("%s: %+v", columns, m)
			}
		}
		var b strings.Builder
		if err := WriteRuns(&b, recs); err != nil {
			t.Fatal(err)
		}
		again := strings.Split(b.String(), "\n")
		names, row := strings.Split(again[0], ","), strings.Split(again[1], ",")
		for i, name := range names {
			if strings.HasPrefix(name, "delivery_") && (row[i] != "") != (name == "delivery_p99_us") {
				t.Errorf("%s: %s is written %q", columns, name, row[i])
			}
		}
	}
}

// No optional figure that a file lacks is 0 when the run is written again: but for the numbers that
// place a run among others, which are always there.
func TestLackingStaysEmpty(t *testing.T) {
	recs, err := ReadRuns(strings.NewReader("schema_version,run_id,cell_id,role,verdict\n1,r,c,sut,ok\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := WriteRuns(&b, recs); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	names, row := strings.Split(lines[0], ","), strings.Split(lines[1], ",")
	there := map[string]string{"schema_version": "1", "run_id": "r", "cell_id": "c", "host": "#sut", "role": "sut",
		"verdict": "ok",
		"block":   "0", "seq": "0", "rep": "0", "warmup": "false"}
	for i, name := range names {
		if row[i] != there[name] {
			t.Errorf("%s is %q, want %q", name, row[i], there[name])
		}
	}
}
