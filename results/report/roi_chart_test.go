// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
)

// The bars are T^n / sum C and T^n / P^m of each end and of both, for any n and m; with watts both
// charts are there, and both of throughput against cost.
func TestROIBars(t *testing.T) {
	c := plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 40, Cores: 2, TGCores: .5, Watts: 100}
	s := Summarize(plantest.Journal(1, 8, c))
	for _, e := range []Exponents{{}, {2, 1}, {1.5, 2}, {3, .5}} {
		s.UseExponents(e)
		n, m := e.orDefault().N, e.orDefault().M
		if len(s.ROI.Charts) != 2 {
			t.Fatalf("%d charts", len(s.ROI.Charts))
		}
		for i, want := range []map[results.Side]float64{
			{results.Receiver: math.Pow(40, n) / 2, results.Sender: math.Pow(40, n) / .5,
				results.Total: math.Pow(40, n) / 2.5},
			{results.Receiver: math.Pow(40, n) / math.Pow(100, m), results.Sender: math.Pow(40, n) / math.Pow(100, m),
				results.Total: math.Pow(40, n) / math.Pow(200, m)},
		} {
			chart := s.ROI.Charts[i]
			for side, v := range want {
				f := chart.Cells[0].Returns[side]
				if math.Abs(f.Median/v-1) > 1e-9 || f.Lo == nil {
					t.Errorf("%s, %s: %+v, want %g", chart.formula(), side, f, v)
				}
			}
		}
	}
	s.UseExponents(Exponents{3, .5})
	if a, b := s.ROI.Charts[0].formula(), s.ROI.Charts[1].formula(); a != "T^3 / ΣC" || b != "T^3 / P^0.5" {
		t.Errorf("%s, %s", a, b)
	}
	var names []string
	figures, err := Figures(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		names = append(names, f.Name)
	}
	for _, want := range []string{"roi_cpu", "roi_power", "decision", "decision_cpu", "cost_rate"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %v", want, names)
		}
	}
	for _, e := range []Exponents{{0, 1}, {2, -1}, {math.NaN(), 1}, {2, math.Inf(1)}, {11, 1}} {
		if e.Check() == nil {
			t.Errorf("%v is taken", e)
		}
	}
}

// What was not measured has no bar, and says so; a cell without a run that counts is named, and one
// with a pace has no return.
func TestROIBarsThatAreNot(t *testing.T) {
	half := plantest.Cell{Cell: plantest.Modes("uring", "tcp"), Gbps: 40, Cores: 2, Watts: 80}
	none := plantest.Cell{Cell: plantest.Modes("devmem", "tcp")}
	s := Summarize(plantest.Journal(1, 3, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 20, Cores: 1,
		TGCores: 1},
		half, none, rated("tcp", "tcp", 50, 10, 1)))
	c := s.ROI.Charts[0]
	if len(c.Cells) != 2 || c.Cells[1].Missing[results.Sender] != "not measured" ||
		c.Cells[1].Missing[results.Total] != "not measured" {
		t.Fatalf("%+v", c.Cells)
	}
	text := string(c.draw(wideWidth, true).inPage("x", c.Title(), c.caption()))
	if n := strings.Count(text, `<path class="s `); n != 4 {
		t.Errorf("%d bars", n)
	}
	if strings.Count(text, ">not measured</text>") != 2 || !strings.Contains(text, "x few over") {
		t.Errorf("%s", text)
	}
	for _, want := range []string{"devmem/tcp", "which is not 0", "No ROI of paced cells", "dotted"} {
		if !strings.Contains(c.caption(), want) {
			t.Errorf("no %q in %q", want, c.caption())
		}
	}
	j := plantest.Journal(1, 6, half)
	for i := range j.Records {
		j.Records[i].TG.PowerSource, j.Records[i].TG.PowerScope = "scpi=m", "wall"
	}
	if p := Summarize(j).ROI.Charts[1]; !strings.Contains(p.Cells[0].Missing[results.Total], "no sum") ||
		len(p.Cells[0].Returns) != 2 {
		t.Errorf("%+v", p.Cells[0])
	}
}

// Labels have all in which cells differ, and run neither into each other nor into figures, with 12
// cells and long names on any screen.
func TestROIBarLabels(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	cells := crowd()
	cells[1].Congestion = evil + strings.Repeat("long", 40)
	s := Summarize(plantest.Journal(1, 6, cells...))
	for _, c := range s.ROI.Charts {
		if len(c.Cells) != 12 || !strings.HasPrefix(c.Cells[1].Label, "uring ← tcp") {
			t.Fatalf("%+v", c.Cells)
		}
		for i := range c.Cells {
			for _, want := range []string{"cpu_layout=", "header_split=", "rx_buffer="} {
				if want == "header_split=" || strings.Contains(c.Cells[i].Label, want) {
					continue
				}
				t.Errorf("no %s in %q", want, c.Cells[i].Label)
			}
		}
		for _, width := range []float64{wideWidth, narrowWidth, fileWidth} {
			p := c.draw(width, true)
			wellFormed(t, c.name(), string(p.inPage("x", c.Title(), c.caption())))
			for i, a := range p.taken {
				if a.x1 > width || a.y1 > p.height {
					t.Errorf("%v is outside of %g x %g", a, width, p.height)
				}
				for k, b := range p.taken {
					if i != k && a.hits(b) {
						t.Errorf("%v and %v", a, b)
					}
				}
			}
		}
	}
	for _, f := range s.ROI.figures() {
		wellFormed(t, f.Name, string(f.SVG))
	}
	for _, x := range []struct{ text, want string }{{"", "[]"}, {"a b", "[a b]"}, {"aaa bbb", "[aaa bbb]"},
		{"aaaaaaaaaa", "[aaaaaa aaaa]"}, {"a bbbbb cc", "[a bbbbb cc]"}} {
		if got := fmt.Sprint(wrapped(x.text, 6)); got != x.want {
			t.Errorf("%q: %s, want %s", x.text, got, x.want)
		}
	}
}
