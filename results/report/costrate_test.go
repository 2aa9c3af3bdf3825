// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
)

// rated is a cell at a share of 20 Gbit/s (0: without a pace), which delivers so much at such a
// cost, CPU seconds per GB at both ends.
func rated(rx, tx string, percent int, gbps, cost float64) plantest.Cell {
	c := plantest.Cell{Cell: plantest.Modes(rx, tx), Gbps: gbps, Cores: cost * gbps / 8, TGCores: cost * gbps / 8,
		CV: .001}
	c.PacePercent, c.PaceBitsPS = percent, int(20e9*float64(percent)/100)
	c.ID = fmt.Sprintf("%s/%s %d", rx, tx, percent)
	return c
}

// inStarts makes each block a start of its own, as turns are.
func inStarts(j results.Journal) results.Journal {
	for i := range j.Records {
		j.Records[i].Start = j.Records[i].Rep + 1
		j.Records[i].Turns = &results.Turns{TurnNs: 60e6, Turns: 18, Cells: 4}
	}
	return j
}

func rateOf(t *testing.T, s *Summary, role ends.Role) *costRate {
	t.Helper()
	i := slices.IndexFunc(s.CostRate, func(r costRate) bool { return r.Role == role })
	if i < 0 {
		t.Fatalf("no chart of %s in %d", role, len(s.CostRate))
	}
	return &s.CostRate[i]
}

// A curve is a mode's paces in the order of their rates, and its capacity; it has a band, and lines
// that are known to cross do so where they are known to. Of runs in blocks as of starts in turns.
func TestCostRateCurves(t *testing.T) {
	cells := []plantest.Cell{rated("tcp", "tcp", 0, 20, 1), rated("tcp", "tcp", 50, 10, .6),
		rated("uring", "tcp", 50, 10, .8), rated("uring", "tcp", 0, 30, .8)}
	for _, starts := range []bool{false, true} {
		j := plantest.Journal(1, 8, cells...)
		unit := "run"
		if starts {
			j, unit = inStarts(j), "start"
		}
		r := rateOf(t, Summarize(j), ends.SUT)
		if len(r.Curves) != 2 || r.Unit != unit || r.Within != "" {
			t.Fatalf("%d curves of %ss %s", len(r.Curves), r.Unit, r.Within)
		}
		for i, c := range r.Curves {
			if c.Name != []string{"tcp", "uring"}[i] || len(c.Points) != 2 || c.Points[0].Pace != "50%" ||
				!c.Points[1].capacity() || c.Points[0].Units != 8 {
				t.Errorf("%+v", c)
			}
			for _, p := range c.Points {
				b := p.Band
				if b == nil || p.Cost.Lo == nil || b.CostLo > *p.Cost.Lo || b.CostHi < *p.Cost.Hi ||
					b.GbpsLo > p.Gbps.Mean || p.capacity() != (b.GbpsLo < *p.Gbps.Lo) {
					t.Errorf("%s: the band %+v around %+v", p.Cell, b, p)
				}
			}
		}
		if len(r.Crossings) != 1 {
			t.Fatalf("%+v", r.Crossings)
		}
		x := r.Crossings[0] // .6 + .04 d = .8
		if x.Verdict != "crosses" || x.At[0].Lo > 15 || x.At[0].Hi < 15 || x.At[0].Hi-x.At[0].Lo > .5 ||
			x.At[0].Above != "uring" || !strings.Contains(x.Sentence,
			"below which tcp is cheaper, and above which uring is") {
			t.Errorf("%+v", x)
		}
	}
}

// What both were measured at has no crossing where one is cheaper all along; where it cannot be
// told, and of few runs, that is what is said.
func TestCostRateVerdicts(t *testing.T) {
	of := func(reps int, cv float64, cells ...plantest.Cell) crossing {
		for i := range cells {
			cells[i].CV = cv
		}
		return rateOf(t, Summarize(plantest.Journal(1, reps, cells...)), ends.SUT).Crossings[0]
	}
	apart := []plantest.Cell{rated("tcp", "tcp", 50, 10, .8), rated("tcp", "tcp", 0, 20, .9),
		rated("uring", "tcp", 50, 10, .6), rated("uring", "tcp", 0, 30, .7)}
	if x := of(6, .002, apart...); x.Verdict != "none" || x.Cheaper != "uring" || !strings.HasPrefix(x.Sentence,
		"tcp and uring: no crossing in what was measured, 10.0 to 20.0 Gbit/s") {
		t.Errorf("%+v", x)
	}
	if x := of(3, .002, apart...); x.Verdict != "open" || !strings.Contains(x.Sentence, "the 3 runs that both have") {
		t.Errorf("%+v", x)
	}
	same := []plantest.Cell{rated("tcp", "tcp", 50, 10, .7), rated("tcp", "tcp", 0, 20, .7),
		rated("uring", "tcp", 50, 10, .7), rated("uring", "tcp", 0, 20, .7)}
	if x := of(8, .003, same...); x.Verdict != "open" || !strings.Contains(x.Sentence, "cannot be told apart") {
		t.Errorf("%+v", x)
	}
	bound := append(apart, rated("tcp-trunc", "tcp", 50, 10, .3), rated("tcp-trunc", "tcp", 0, 40, .3))
	r := rateOf(t, Summarize(plantest.Journal(1, 6, bound...)), ends.SUT)
	if len(r.Curves) != 3 || !r.Curves[2].Bound || len(r.Crossings) != 1 {
		t.Errorf("who discards the payload is no choice: %+v", r.Crossings)
	}
}

// A cell that missed its pace is drawn open at what it held, with an arrow to the pace, and listed;
// a curve of others goes on without it.
func TestCostRateCensors(t *testing.T) {
	j := plantest.Journal(1, 8, rated("tcp", "tcp", 50, 10, .6), rated("tcp", "tcp", 75, 13, .7),
		rated("tcp", "tcp", 0, 13.5, .7), rated("uring", "tcp", 50, 10, .5), rated("uring", "tcp", 75, 15, .5),
		rated("uring", "tcp", 0, 30, .5))
	s := Summarize(j)
	r := rateOf(t, s, ends.SUT)
	c := r.Curves[0]
	if len(c.Points) != 2 || len(c.Missed) != 1 || c.Missed[0].Cell != "tcp/tcp 75" || c.Missed[0].Missed != 8 ||
		*c.Missed[0].PaceGbps != 15 || c.Missed[0].Gbps.Mean > 13.2 {
		t.Fatalf("%+v", c)
	}
	const told = "tcp did not reach the pace 75% (15.0 Gbit/s): it held 13.0"
	p := r.draw(wideWidth, wideHeight, true)
	for what, text := range map[string]string{"page": htmlPage(t, j), "list": strings.Join(r.listed(), "\n"),
		"file": string(p.file()), "table": strings.Join(strings.Fields(string(table(t, s))), " ")} {
		if !strings.Contains(text, told) {
			t.Errorf("%s: no %q", what, told)
		}
	}
	text := string(p.file())
	if strings.Count(text, `class="arrow"`) != 1 || strings.Count(text, "hollow missed") != 1 ||
		!strings.Contains(p.caption(), "did not reach its pace") {
		t.Errorf("no open mark with an arrow in %s", text)
	}
	if s := rateOf(t, Summarize(plantest.Journal(1, 8, rated("tcp", "tcp", 75, 13, .7))),
		ends.SUT); len(s.Curves[0].Points) != 0 ||
		len(s.Curves[0].Missed) != 1 {
		t.Errorf("alone: %+v", s.Curves)
	}
}

// A mode that was faster than its pace did reach it, and one half of whose runs did not is no
// missed pace; no capacity is named where none was measured.
func TestCostRateHeld(t *testing.T) {
	j := plantest.Journal(1, 8, rated("tcp", "tcp", 50, 10, .6), rated("tcp", "tcp", 75, 15.3, .7))
	for i := range j.Records {
		if r := &j.Records[i]; r.Cell.PacePercent == 50 && r.Rep%2 == 0 {
			*r.SUT.ThroughputGbps *= .9
		}
	}
	r := rateOf(t, Summarize(j), ends.SUT)
	if c := r.Curves[0]; len(c.Points) != 2 || len(c.Missed) != 0 || c.Points[0].Missed != 4 ||
		c.Points[1].Missed != 0 {
		t.Errorf("%+v", c)
	}
	if text := r.caption(); strings.Contains(text, "capacity") || !strings.Contains(text, "a point for each pace.") {
		t.Error(text)
	}
}

// Capacities alone are points, each in its box; they have no curve and no crossing, and the caption
// says so. A capacity that something else held is at least that.
func TestCostRateOfCapacities(t *testing.T) {
	held := rated("uring", "tcp", 0, 30, .7)
	held.Limit = plan.BySender
	s := Summarize(plantest.Journal(1, 8, rated("tcp", "tcp", 0, 20, .9), held))
	if len(s.CostRate) != 1 {
		t.Fatalf("%d charts: the senders are alike", len(s.CostRate))
	}
	r := &s.CostRate[0]
	p := r.draw(narrowWidth, narrowHeight, true)
	text := string(p.inPage("x", "t", "d"))
	if len(r.Curves) != 2 || r.Crossings != nil || strings.Count(text, `class="ring"`) != 2 ||
		strings.Contains(text, `class="curve`) || strings.Count(text, `class="band`) != 2 ||
		!strings.Contains(p.caption(), "no curves") {
		t.Errorf("%s\n%s", p.caption(), text)
	}
	if h := r.Curves[1].Points[0]; h.HeldBy != plan.BySender || !strings.Contains(h.remarks(), "at least this") ||
		!strings.Contains(text, "hollow") {
		t.Errorf("%+v", h)
	}
}

// Receivers from one sender and senders into one receiver are two charts, each of its own cells.
func TestCostRateOfTwoPlans(t *testing.T) {
	s := Summarize(plantest.Journal(1, 6, rated("tcp", "sendfile", 50, 10, .6), rated("tcp", "sendfile", 0, 20, .6),
		rated("uring", "sendfile", 50, 10, .5), rated("uring", "sendfile", 0, 20, .5),
		rated("tcp-trunc", "sendfile", 0, 40, .2), rated("tcp-trunc", "tcp", 0, 30, .3),
		rated("tcp-trunc", "msg-zerocopy", 0, 35, .3)))
	for role, want := range map[ends.Role]string{ends.SUT: "tcp uring tcp-trunc",
		ends.TG: "sendfile tcp msg-zerocopy"} {
		r, names := rateOf(t, s, role), []string(nil)
		for _, c := range r.Curves {
			names = append(names, c.Name)
			if c.Bound != (role == ends.SUT && c.Name == "tcp-trunc") {
				t.Errorf("%s of %s is a bound: %v", c.Name, role, c.Bound)
			}
		}
		if got := strings.Join(names, " "); got != want || !r.alone {
			t.Errorf("%s: %s, want %s", role, got, want)
		}
	}
	if r := rateOf(t, Summarize(paced()), ends.TG); r.alone || len(r.Curves) != 2 {
		t.Errorf("senders that are alike are no chart of the page's first: %+v", r)
	}
}

// Cells that differ in what zcrx alone has stay beside those that have none of it.
func TestCostRateOfOwnOptions(t *testing.T) {
	z := rated("zcrx", "tcp", 0, 40, .3)
	z.RXBufLen = 32768
	r := rateOf(t, Summarize(plantest.Journal(1, 6, rated("tcp", "tcp", 0, 20, .9), rated("uring", "tcp", 0, 20, .9),
		z)),
		ends.SUT)
	if len(r.Curves) != 3 {
		t.Errorf("%+v", r.Curves)
	}
}

// crowd are 12 cells with long names at two loads.
func crowd() (cells []plantest.Cell) {
	for i := range 12 {
		for _, percent := range []int{50, 0} {
			c := rated([]string{"tcp", "uring", "tcp-mmap"}[i%3], "tcp", percent, map[int]float64{50: 10,
				0: 20 + float64(i%4)}[percent], .5+float64(i%5)/50)
			c.CPULayout, c.RXBuffer = []string{"1cpu", "2cpu"}[i/3%2], 4096<<(i/6)
			c.HeaderSplit, c.Watts = new(i%2 == 0), 100
			c.ID = fmt.Sprintf("%s %d", c.ID, i)
			cells = append(cells, c)
		}
	}
	return cells
}

// Names do not run into each other nor over marks, whatever cells are called; the legend has all
// names in full; drawings are XML that a browser takes.
func TestCostRateLabels(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	cells := crowd()
	for i := range cells[:2] {
		cells[i].Congestion = evil
	}
	r := rateOf(t, Summarize(plantest.Journal(1, 6, cells...)), ends.SUT)
	if len(r.Curves) != 12 {
		t.Fatalf("%d curves", len(r.Curves))
	}
	for _, p := range []*ratePlate{r.draw(wideWidth, wideHeight, true), r.draw(narrowWidth, narrowHeight, true),
		r.draw(fileWidth, fileHeight, false)} {
		wellFormed(t, "chart", string(p.inPage("x", p.Title(), p.caption())))
		file := string(p.file())
		wellFormed(t, "file", file)
		names := 0
		for i, a := range p.taken {
			if a.y1-a.y0 != 13 { // of a name
				continue
			}
			names++
			for k, b := range p.taken {
				if i != k && a.hits(b) {
					t.Errorf("%v and %v", a, b)
				}
			}
		}
		if names < 6 {
			t.Errorf("%d of 12 curves have a name", names)
		}
		for _, c := range r.Curves {
			if items := fmt.Sprint(p.legend()); !strings.Contains(items, c.Name) {
				t.Errorf("no %q in the legend", c.Name)
			}
		}
	}
}

// The page has the chart with its words for those who do not see it, links to the cells' rows, and
// the table behind it; JSON has all of it.
func TestCostRateInPage(t *testing.T) {
	j := inStarts(plantest.Journal(1, 8, rated("tcp", "tcp", 50, 10, .6), rated("tcp", "tcp", 0, 20, 1),
		rated("uring", "tcp", 50, 10, .8), rated("uring", "tcp", 0, 30, .8)))
	page := htmlPage(t, j)
	chart, _, _ := strings.Cut(page[strings.Index(page, `<figure class="chart" id="cost_rate">`):], "</figure>")
	for _, want := range []string{`role="group" aria-label="Cost against rate: the receiver’s CPU time per GB`,
		"<desc>Down and",
		"Points are means of starts", `<a class="m c0" href="#cell1"><title>tcp`, "their costs cross at 15.0 Gbit/s [",
		"<summary>The figures of this chart</summary>", "none (capacity)", "Bonferroni"} {
		if !strings.Contains(chart, want) {
			t.Errorf("no %q in %s", want, chart)
		}
	}
	if n := strings.Count(chart, "<tr>"); n != 5 {
		t.Errorf("%d rows", n)
	}
	var b bytes.Buffer
	if err := JSON(&b, Summarize(j)); err != nil {
		t.Fatal(err)
	}
	var read struct {
		CostRate []struct {
			Role   string
			Curves []struct {
				Points []struct {
					Cost struct{ Mean, Lo, Hi float64 } `json:"cpu_s_per_gb"`
				}
			}
			Crossings []struct{ Sentence, Verdict string }
		} `json:"cost_rate"`
	}
	if err := json.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if c := read.CostRate[0]; c.Role != "sut" || len(c.Curves) != 2 || c.Curves[0].Points[1].Cost.Hi < 1 ||
		c.Crossings[0].Verdict != "crosses" {
		t.Errorf("%+v", read)
	}
}

// The shape around points has their outermost as corners, and one or two points are a shape, too.
func TestHull(t *testing.T) {
	square := [][2]float64{{0, 0}, {4, 0}, {4, 4}, {0, 4}, {2, 2}, {2, 0}, {0, 0}}
	if h := hull(square); len(h) != 4 {
		t.Error(h)
	}
	for _, line := range [][][2]float64{{{1, 1}}, {{1, 1}, {1, 1}}, {{1, 1}, {2, 3}}, {{1, 1}, {2, 2}, {3, 3}}} {
		if h := hull(line); len(h) > 2 {
			t.Errorf("%v: %v", line, h)
		}
	}
}
