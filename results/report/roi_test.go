// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// What measured the watts is shown beside them; modes measured with other
// instruments have no order.
func TestPowerInstruments(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	rec := func(id, source, scope string) results.Record {
		h := results.Host{ThroughputGbps: v(50), CPUBusyCores: v(1), PowerW: v(100), PowerSource: source,
			PowerScope: scope}
		return results.Record{Verdict: results.OK, Cell: plan.Cell{ID: id, RX: id, TX: "tcp"}, SUT: h, TG: h}
	}
	ordered := func(s *Summary) (n int) {
		for _, x := range s.ROI.Sensitivity {
			if x.Cost == results.CostPower {
				n++
			}
		}
		return n
	}
	s := Summarize(results.Journal{Records: []results.Record{rec("a", "rapl", "package"), rec("b", "rapl", "package")}})
	if page := render(t, func(b *bytes.Buffer) error { return writePage(b, s) }); bytes.Count(page,
		[]byte(">rapl (package)<")) != 4 {
		t.Error("the page does not say what measured the watts of two modes and two ends")
	}
	if n := ordered(s); n != 3 { // gross; idle was not measured
		t.Errorf("one instrument: %d tables", n)
	}
	s = Summarize(results.Journal{Records: []results.Record{rec("a", "rapl", "package"), rec("b", "scpi=m", "wall"),
		rec("b", "rapl", "package")}})
	figures, err := Figures(s)
	if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "roi_power" }); err != nil || i < 0 ||
		!strings.Contains(figures[i].Caption, "rapl (package), scpi=m (wall), which are not comparable") {
		t.Errorf("the plot does not say what it shows: %v", err)
	}
	if n := ordered(s); n != 0 {
		t.Errorf("two instruments: %d tables", n)
	}
	if got := strings.Join(s.Cells[1].SUT.PowerBy, "; "); got != "scpi=m (wall); rapl (package)" {
		t.Errorf("measured by %q", got)
	}
}

// roiPlan is cells in blocks of one session: each has a throughput and busy cores of both
// ends, which vary by 1 %.
func roiPlan(seed uint64, reps int, cells map[string][2]float64) results.Journal {
	rng := rand.New(rand.NewPCG(seed, 17))
	vary := func(x float64) *float64 { return new(x * (1 + .01*rng.NormFloat64())) }
	var j results.Journal
	for rep := -1; rep < reps; rep++ { // a warm-up first, which counts for nothing
		for _, id := range slices.Sorted(maps.Keys(cells)) {
			c := cells[id]
			r := results.Record{Verdict: results.OK, Cell: plan.Cell{ID: id, RX: id, TX: "tcp"}, SessionID: "s",
				Rep: max(rep, 0), Warmup: rep < 0}
			r.SUT = results.Host{ThroughputGbps: vary(c[0]), CPUBusyCores: vary(c[1])}
			r.TG = results.Host{ThroughputGbps: r.SUT.ThroughputGbps, CPUBusyCores: vary(c[1])}
			if r.Warmup {
				r.SUT.ThroughputGbps = new(1e4)
			}
			j.Records = append(j.Records, r)
		}
	}
	return j
}

func total(t *testing.T, s *Summary) Sensitivity {
	t.Helper()
	for _, x := range s.ROI.Sensitivity {
		if x.Side == results.Total && x.Cost == results.CostCPU {
			return x
		}
	}
	t.Fatalf("no order of the total: %+v", s.ROI)
	return Sensitivity{}
}

// Which of two modes is better depends on the exponents: one is frugal, one fast.
func TestROI(t *testing.T) {
	s := Summarize(roiPlan(1, 8, map[string][2]float64{"frugal": {50, .25}, "fast": {100, 1}, "slow": {10, .5}}))
	x := total(t, s)
	if !strings.Contains(x.Line(),
		"no clear leader at n = 2, m = 1: frugal, fast cannot be told apart; with other n and m ") {
		if !strings.Contains(x.Line(),
			"no clear leader at n = 2, m = 1: fast, frugal cannot be told apart; with other n and m ") {
			t.Errorf("both have 10000 at n = 2, m = 1: %s", x.Line())
		}
	}
	grid := x.Grid()
	// n = 3, m = .5; n = 1, m = 2; n = 2, m = 1
	if grid[4][1] != "fast =" || grid[0][4] != "none: at saturation" || !strings.HasPrefix(grid[2][2], "2 tied: ") {
		t.Errorf("%v", grid)
	}
	s = Summarize(roiPlan(1, 8, map[string][2]float64{"frugal": {50, .25}, "fast": {110, 1}, "slow": {10, .5}}))
	if x = total(t, s); !strings.Contains(x.Line(),
		"which mode leads depends on n and m (fast, frugal); no two modes swap ranks for ") {
		t.Errorf("%s", x.Line())
	}
	for _, c := range s.ROI.Cells {
		want := map[string]string{"fast": "1", "frugal": "2", "slow": "3"}[c.Cell]
		if f := c.CPU[results.Total]; c.RankText() != want || f.Lo == nil ||
			!(*f.Lo < f.Median && f.Median < *f.Hi) || len(c.Power) != 0 {
			t.Errorf("%s: rank %s, %+v", c.Cell, c.RankText(), c)
		}
	}
	for name, f := range map[string]func(*bytes.Buffer) error{
		"table": func(b *bytes.Buffer) error { return Table(b, s) },
		"HTML":  func(b *bytes.Buffer) error { return HTML(b, s, nil) },
	} {
		var b bytes.Buffer
		if err := f(&b); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "),
			"depends on n and m") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// With n <= m a return is a price: of cells at unequal rates it orders none, and at one rate it
// does.
func TestPricesHaveNoOrder(t *testing.T) {
	for _, x := range []struct {
		fast float64
		want string
	}{{100, "none: at saturation"}, {50.2, "frugal ="}} {
		s := Summarize(roiPlan(1, 8, map[string][2]float64{"frugal": {50, .25}, "fast": {x.fast, 2}}))
		of := total(t, s)
		for i, n := range sensitivityN {
			for k, m := range sensitivityM {
				got, none := of.Grid()[i][k+1], n <= m && x.fast == 100
				if (got == "none: at saturation") != none || n <= m && got != x.want {
					t.Errorf("%g Gbit/s, n = %g, m = %g: %s", x.fast, n, m, got)
				}
			}
		}
		if strings.Contains(of.Line(), "with n <= m it is a price") != (x.fast == 100) {
			t.Errorf("%g Gbit/s: %s", x.fast, of.Line())
		}
	}
}

// Few runs tell nothing apart, however far from each other they are.
func TestROIOfFewRuns(t *testing.T) {
	s := Summarize(roiPlan(1, 5, map[string][2]float64{"a": {50, .25}, "b": {100, .1}}))
	if x := total(t, s); x.lead(x.base()) != "" || s.ROI.Cells[0].RankText() != "1=" {
		t.Errorf("%s; %+v", x.Line(), s.ROI.Cells[0])
	}
}

// Of 200 experiments with four equal cells, or two, at most 5 % name one that leads; one that is
// 5 % faster at equal cost leads in at least 80 %, and never another.
func TestTiedDoNotLead(t *testing.T) {
	const rounds = 200
	leads := func(best float64, names ...string) map[string]int {
		cells := map[string][2]float64{"c": {100 * best, 1}}
		for _, name := range names {
			cells[name] = [2]float64{100, 1}
		}
		n := map[string]int{}
		for seed := range uint64(rounds) {
			j := roiPlan(seed, 8, cells)
			all := candidates(group(j), results.Total, results.CostCPU)
			r := rank(all, 2, 1, asked{rankings: 1}, mostRanked)
			if l := r.Leaders(); len(l) == 1 {
				n[all[l[0]].cell]++
			}
		}
		return n
	}
	equal, two, better := leads(1, "a", "b", "d"), leads(1, "a"), leads(1.05, "a", "b", "d")
	t.Logf("equal: %v, of two: %v, c is better: %v", equal, two, better)
	for _, n := range []map[string]int{equal, two} {
		if n["a"]+n["b"]+n["c"]+n["d"] > rounds*5/100 {
			t.Errorf("equal cells lead: %v", n)
		}
	}
	if better["c"] < rounds*80/100 || len(better) > 1 {
		t.Errorf("c is better: %v", better)
	}
}

// No two cells may stand in opposite orders.
func TestAgree(t *testing.T) {
	for _, c := range []struct {
		a, b []int
		want bool
	}{
		{[]int{1, 2, 3}, []int{1, 2, 3}, true},
		{[]int{1, 1, 3}, []int{1, 2, 3}, true},
		{[]int{1, 1, 3}, []int{2, 1, 3}, true},
		{[]int{1, 2, 3}, []int{1, 1, 1}, true},
		{[]int{1, 2, 3}, []int{1, 3, 2}, false},
		{[]int{3, 2, 1}, []int{2, 3, 1}, false},
		{[]int{1, 1, 3}, []int{1, 3, 2}, false},
	} {
		if agree(c.a, c.b) != c.want || agree(c.b, c.a) != c.want {
			t.Errorf("%v and %v: want %v", c.a, c.b, c.want)
		}
	}
}

// Total ROI, energy per byte and cycles get verdicts in the report, gross and net.
func TestCostVerdicts(t *testing.T) {
	j := roiPlan(3, 8, map[string][2]float64{"tcp": {50, .5}, "uring": {50, .4}})
	for i := range j.Records {
		r := &j.Records[i]
		for _, h := range []*results.Host{&r.SUT, &r.TG} {
			h.PowerW, h.PowerIdleW = new(100+100**h.CPUBusyCores), new(100.0)
			h.CyclesPerByte, h.DurationS, h.Bytes = new(*h.CPUBusyCores*2), new(1.0), new(uint64(50e9/8))
		}
	}
	s := Summarize(j)
	got := map[string]compare.Verdict{}
	for _, row := range s.Compared.Rows {
		got[row.Metric] = row.Verdict
	}
	want := map[string]compare.Verdict{"throughput_gbps": compare.Unsure, "ns_per_kb": compare.Cheaper,
		"cycles_per_byte": compare.Cheaper, "roi_cpu_total": compare.Higher,
		"roi_power_total": compare.Higher, "roi_power_net_total": compare.Higher, "joule_per_gb_total": compare.Cheaper,
		"joule_per_gb_net_total": compare.Cheaper}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := len(s.ROI.Sensitivity); n != 9 || !s.ROI.Power() {
		t.Errorf("%d orders", n)
	}
	text := string(table(t, s))
	for _, want := range []string{"per busy core", "per watt, gross", "per watt beyond idle"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
