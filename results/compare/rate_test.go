// SPDX-License-Identifier: MIT

package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// loads is a set with runs of cells at a rate, a cost in cores and one in watts.
type measured struct {
	cell               plan.Cell
	gbps, cores, watts float64
}

func loads(all ...measured) Set {
	var j results.Journal
	for _, l := range all {
		for i := range 8 {
			near := 1 + float64(i-4)/2000 // runs differ by a little
			r := results.Record{Cell: l.cell, Verdict: results.OK, Limit: plan.ByReceiver}
			if l.cell.PaceBitsPS != 0 {
				r.Limit = plan.ByPace
			}
			r.SUT = results.Host{ThroughputGbps: ptr(l.gbps), CPUBusyCores: ptr(l.cores * near), DurationS: ptr(1.0),
				Bytes:  ptr(uint64(l.gbps * 1e9 / 8)),
				PowerW: ptr(l.watts * near), PowerSource: "rapl", PowerScope: "package"}
			r.TG = r.SUT
			j.Records = append(j.Records, r)
		}
	}
	return NewSet("loads", j)
}

func atPace(c plan.Cell, percent int, rate int) plan.Cell {
	c.PacePercent, c.PaceBitsPS = percent, rate
	c.ID = c.RX + "/" + c.TX + " " + plan.LookupOption("pace").Value(&c)
	return c
}

var everyMetric = []string{"throughput_gbps", "ns_per_kb", "tg_ns_per_kb", "cpu_busy_cores", "tg_cpu_busy_cores",
	"roi_cpu", "roi_power", "power_w", "tg_power_w", "joule_per_gb"}

// One mode at two rates is one mode: whatever is asked, neither load is faster, cheaper or the
// other's equal.
func TestOneModeAtTwoRates(t *testing.T) {
	free, half, quarter := measured{tcp, 40, 1, 60}, measured{atPace(tcp, 50, 20e9), 20, .6, 45},
		measured{atPace(tcp, 25, 10e9), 10, .4, 40}
	other := half // where a journal has another calibration
	other.cell.PaceBitsPS, other.gbps = 15e9, 15
	missed := half
	missed.gbps = 17
	for _, x := range []struct {
		a, b measured
		cost string
	}{{free, half, "at saturation"}, {half, free, "at saturation"}, {half, quarter, "at another pace"},
		{half, other, "at another pace"}, {quarter, missed, "at saturation"}} {
		a, b := loads(x.a), loads(x.b)
		b.Chosen = []string{"pace"}
		r, err := Compare(&a, &b, metrics(t, everyMetric...))
		roi := func(name string) bool { return strings.HasPrefix(name, "roi_") } // says how fast the pace was
		if err != nil || len(r.Rows) != len(slices.DeleteFunc(slices.Clone(everyMetric), roi)) ||
			slices.ContainsFunc(r.Rows, func(row Row) bool { return roi(row.Metric) }) {
			t.Fatalf("%+v, %v", r, err)
		}
		r.Within(.9)
		for i := range r.Rows {
			row := &r.Rows[i]
			text := row.VerdictText()
			if row.Verdict != Unsure || row.Worse(0) || row.Equal.Holds() || strings.Contains(text, "equal") {
				t.Errorf("%s beside %s: %s %s", x.b.cell.ID, x.a.cell.ID, row.Metric, text)
			}
			m, _ := Lookup([]string{row.Metric})
			if m[0].ofCost() && text != x.cost {
				t.Errorf("%s beside %s: %s %q, want %q", x.b.cell.ID, x.a.cell.ID, row.Metric, text, x.cost)
			}
		}
		var out bytes.Buffer
		if err := r.Table(&out); err != nil || !strings.Contains(out.String(), "not for equal work") {
			t.Errorf("%v\n%s", err, &out)
		}
	}
}

// Costs of equal work have verdicts, whether a pace or something else made it equal.
func TestEqualWork(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	for name, x := range map[string][2]measured{
		"paced":      {{atPace(tcp, 50, 20e9), 19.9, .6, 45}, {atPace(uring, 50, 20e9), 20.1, .5, 40}},
		"by a link":  {{tcp, 94, .9, 45}, {uring, 94.5, .7, 40}},
		"one of two": {{tcp, 20, .6, 45}, {atPace(uring, 50, 20e9), 20, .5, 40}},
	} {
		a, b := loads(x[0]), loads(x[1])
		b.Chosen = []string{"rx", "pace"}
		r, err := Compare(&a, &b, metrics(t, "ns_per_kb", "joule_per_gb", "cpu_busy_cores"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Rows {
			want := "cheaper"
			if name == "one of two" {
				want += " (of rx, pace together)"
			}
			if got := r.Rows[i].VerdictText(); got != want {
				t.Errorf("%s: %s %s", name, r.Rows[i].Metric, got)
			}
		}
	}
}

// Two cells that each hold a pace may be up to 2 % apart: a cost that differs by no more than their
// rates is that of delivering so much less, and says nothing of them. Nor does it make them equal.
func TestCostOfTheRates(t *testing.T) {
	a := measured{atPace(tcp, 50, 20e9), 20.15, .6, 45}
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	for name, x := range map[string]struct {
		b    measured
		want string // of watts, cores, and joules per gigabyte
	}{
		"all of it is idle power": {measured{atPace(uring, 50, 20e9), 19.85, .6, 45},
			"cannot tell; cannot tell; cannot tell (the rates differ as much)"},
		"all of it goes with load": {measured{atPace(uring, 50, 20e9), 19.85, .591, 44.33},
			"cannot tell (the rates differ as much); cannot tell (the rates differ as much); cannot tell"},
		"more than that": {measured{atPace(uring, 50, 20e9), 19.85, .55, 41}, "cheaper; cheaper; cheaper"},
		"the same rate": {measured{atPace(uring, 50, 20e9), 20.15, .591, 44.33},
			"cheaper; cheaper; cheaper"},
	} {
		sa, sb := loads(a), loads(x.b)
		sb.Chosen = []string{"rx"}
		r, err := Compare(&sa, &sb, metrics(t, "power_w", "cpu_busy_cores", "joule_per_gb"))
		if err != nil {
			t.Fatal(err)
		}
		r.Within(.01)
		var got []string
		for i := range r.Rows {
			got = append(got, r.Rows[i].VerdictText())
			if r.Rows[i].Equal.Holds() {
				t.Errorf("%s: %s is called equal", name, r.Rows[i].Metric)
			}
		}
		if s := strings.Join(got, "; "); s != x.want {
			t.Errorf("%s: %s\nwant %s", name, s, x.want)
		}
	}
}

// One rule is for all that work cost, whoever asks: a price at two rates has no verdict, of bytes,
// packets or round trips, nor has what makes its difference; a return has one, and says so where
// the rates alone may be why; and what is delivered has no cost.
func TestOneRule(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	rr := func(rx string) plan.Cell { return plan.Cell{ID: rx + "/rr", RX: rx, TX: "rr", Touch: "read"} }
	trips := func(s Set) Set {
		for i := range s.Cells {
			for _, r := range s.Cells[i].Runs {
				n := uint64(1e3 * *r.SUT.ThroughputGbps)
				r.SUT.Transactions, r.TG.Transactions = &n, &n
			}
		}
		return s
	}
	const no, alone = "at saturation", "higher (the rates alone may explain it)"
	for _, x := range []struct {
		name string
		a, b measured
		want map[string]string
	}{
		{"half the rate, and fixed costs", measured{tcp, 20, 1, 60}, measured{uring, 40, 1, 60},
			map[string]string{"ns_per_kb": no, "cpu_busy_cores": no, "joule_per_gb": no, "roi_cpu": alone,
				"roi_power": alone}},
		{"twice as fast, and cheaper", measured{tcp, 20, 1, 60}, measured{uring, 40, .5, 30},
			map[string]string{"ns_per_kb": no, "roi_cpu": "higher", "roi_power": "higher"}},
		{"the same rate", measured{tcp, 40, 1, 60}, measured{uring, 40, .5, 30},
			map[string]string{"ns_per_kb": "cheaper", "joule_per_gb": "cheaper", "roi_cpu": "higher"}},
		{"round trips", measured{rr("tcp"), 20, 1, 60}, measured{rr("uring"), 40, 1, 60},
			map[string]string{"cpu_us_per_transaction": no, "cpu_busy_cores": no}},
		{"round trips, the same rate", measured{rr("tcp"), 40, 1, 60}, measured{rr("uring"), 40, .5, 60},
			map[string]string{"cpu_us_per_transaction": "cheaper", "cpu_busy_cores": "cheaper"}},
	} {
		a, b := loads(x.a), loads(x.b)
		if x.a.cell.TX == "rr" {
			a, b = trips(a), trips(b)
		}
		b.Chosen = []string{"rx"}
		for metric, want := range x.want {
			r, err := Compare(&a, &b, metrics(t, metric))
			if err != nil || len(r.Rows) != 1 {
				t.Fatalf("%s, %s: %+v, %v", x.name, metric, r, err)
			}
			if got := r.Rows[0].VerdictText(); got != want {
				t.Errorf("%s, %s: %q, want %q", x.name, metric, got, want)
			}
			if m := metrics(t, metric)[0]; m.ofCost() && (r.Couples()[0].Rates().Work == "") != (want != no) {
				t.Errorf("%s, %s: of what makes the difference another rule holds", x.name, metric)
			}
		}
	}
	packets := plan.Cell{ID: "udp/udp", RX: "udp", TX: "udp"}
	a, b := loads(measured{packets, 1, 1, 60}), loads(measured{packets, 2, 1, 60})
	if r, err := Compare(&a, &b, metrics(t, "roi_cpu")); err != nil || len(r.Rows) > 0 {
		t.Errorf("packets have a return on bytes: %+v, %v", r, err)
	}
}

// Graduated loads are compared load by load; of a load that the baseline lacks nothing is said.
func TestAgainstAtItsPace(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	s := loads(measured{tcp, 40, 1, 60}, measured{atPace(tcp, 25, 10e9), 10, .4, 40},
		measured{atPace(tcp, 50, 20e9), 20, .6, 45},
		measured{uring, 44, 1, 60}, measured{atPace(uring, 25, 10e9), 10, .3, 38}, measured{atPace(uring, 50, 20e9),
			20, .5, 41}, measured{atPace(uring, 75, 30e9), 30, .7, 50})
	r, err := Within(&s, tcp, metrics(t, "ns_per_kb"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range r.Rows {
		got = append(got, r.Rows[i].Label()+": "+r.Rows[i].VerdictText())
	}
	want := "uring/tcp : tcp/tcp: at saturation\nuring/tcp 25% : tcp/tcp 25%: cheaper\nuring/tcp 50% : tcp/tcp " +
		"50%: cheaper\nuring/tcp 75% : tcp/tcp: cannot tell (differs in rx, pace)"
	if strings.Join(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// Of two at one pace, of which one missed it, it is said which one holds it, and their costs have
// no verdict. That both missed it is no matter of either. Runs that miss it by what they vary are
// held.
func TestMissedPace(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	at := func(c plan.Cell, gbps float64) measured { return measured{atPace(c, 50, 20e9), gbps, .6, 45} }
	const said = " missed its pace (17 of 20 Gbit/s), which "
	for name, x := range map[string]struct {
		a, b       measured
		cost, text string
	}{
		"b": {at(tcp, 20), at(uring, 17), "misses the pace that the other holds", "uring/tcp 50%" +
			said + "tcp/tcp 50% holds"},
		"a": {at(tcp, 17), at(uring, 19.9), "holds the pace that the other misses",
			"tcp/tcp 50%" + said + "uring/tcp 50% holds"},
		"both":         {at(tcp, 17), at(uring, 15), "at saturation", ""},
		"as it varies": {at(tcp, 20), at(uring, 19.7), "cannot tell (the rates differ as much)", ""},
		"not paced":    {at(tcp, 20), measured{uring, 17, .6, 45}, "at saturation", ""},
	} {
		a, b := loads(x.a), loads(x.b)
		b.Chosen = []string{"rx"}
		r, err := Compare(&a, &b, metrics(t, "throughput_gbps", "cpu_busy_cores"))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.Table(&out); err != nil {
			t.Error(err)
		}
		row := &r.Rows[1]
		if row.Metric != "cpu_busy_cores" {
			t.Fatal(row.Metric)
		}
		if got := string(row.Work); got != x.cost && name != "as it varies" || row.MissedText() != x.text ||
			row.Work.Missed() != (x.text != "") || row.Verdict != Unsure {
			t.Errorf("%s: %q, %q, %s", name, got, row.MissedText(), row.Verdict)
		}
		if x.text != "" && !strings.Contains(strings.Join(strings.Fields(out.String()), " "), x.text+".") {
			t.Errorf("%s:\n%s", name, &out)
		}
		if advised := strings.Contains(out.String(), "(--pace)"); advised != (row.Work == AtSaturation) {
			t.Errorf("%s: a pace is advised: %v\n%s", name, advised, &out)
		}
	}
}
