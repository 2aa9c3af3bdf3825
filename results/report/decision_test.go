// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/stat"
)

func made(rx string, gbps, cores float64) plantest.Cell {
	return plantest.Cell{Cell: plantest.Modes(rx, "tcp"), Gbps: gbps, Cores: cores, TGCores: .5, CV: .002}
}

// The frontier has each cell than which no other is both as cheap and faster, by the medians.
func TestFrontier(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var cells []plantest.Cell
		for i := range 2 + rng.IntN(12) {
			cells = append(cells, made(fmt.Sprint("m", i), 10+90*rng.Float64(), .2+rng.Float64()))
		}
		d := Summarize(plantest.Journal(seed, 6, cells...)).decisions[0]
		if d == nil || len(d.marks) != len(cells) {
			t.Fatalf("%d: %+v", seed, d)
		}
		for i := range d.marks {
			m := &d.marks[i]
			behind := slices.ContainsFunc(d.marks, func(o mark) bool {
				return o.number != m.number && o.x.Median <= m.x.Median && o.y.Median >= m.y.Median
			})
			if m.frontier == behind {
				t.Errorf("%d: %s is on the frontier: %v, and another is better: %v", seed, m.name, m.frontier, behind)
			}
		}
	}
}

// Watts are the axis where all cells have them by one instrument, and else cores; who discards the
// payload is on no frontier, paced cells are not there, and nothing is drawn of nothing.
func TestDecisionAxis(t *testing.T) {
	watts := func(c plantest.Cell, w float64) plantest.Cell { c.Watts = w; return c }
	axis := func(cells ...plantest.Cell) string {
		var out []string
		for _, d := range Summarize(plantest.Journal(1, 6, cells...)).decisions {
			out = append(out, fmt.Sprint(d.axis(), " ", len(d.marks)))
		}
		return strings.Join(out, ", ")
	}
	paced := made("paced", 10, 1)
	paced.PaceBitsPS = 10e9
	for want, got := range map[string]string{
		"watts of both hosts 2, busy cores of both hosts 2": axis(watts(made("a", 10, 1), 100),
			watts(made("b", 20, 1), 90)),
		"busy cores of both hosts 2, watts of both hosts 1": axis(watts(made("a", 10, 1), 100), made("b", 20, 1)),
		"busy cores of both hosts 1":                        axis(made("a", 10, 1), paced),
		"":                                                  axis(plantest.Cell{Cell: plantest.Modes("a", "tcp")}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	j := plantest.Journal(1, 6, watts(made("a", 10, 1), 100), watts(made("b", 20, 1), 90))
	for i := range j.Records {
		if r := &j.Records[i]; r.Cell.RX == "b" {
			r.SUT.PowerSource, r.TG.PowerSource = "scpi=m", "scpi=m"
			r.SUT.PowerScope, r.TG.PowerScope = "wall", "wall"
		}
	}
	if d := Summarize(j).decisions[0]; d.axis() != "busy cores of both hosts" {
		t.Errorf("of two instruments: %s", d.axis())
	}
}

// Drawings are XML that a browser takes, whatever cells are called, with a mark and its runs for
// each cell, and nothing that is no number.
func TestDecisionDrawing(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	var cells []plantest.Cell
	for i := range 60 {
		c := made([]string{"tcp", evil}[i%2], 10+float64(i), .5+float64(i%7)/10)
		c.MTU = 1500 + i
		c.ID = fmt.Sprint(evil, i)
		cells = append(cells, c)
	}
	// all runs are one point
	one := []plantest.Cell{{Cell: plantest.Modes("tcp", "tcp"), Gbps: 10, Cores: 1, TGCores: 1}}
	for name, j := range map[string]results.Journal{"many": plantest.Journal(1, 7, cells...),
		"one": plantest.Journal(1, 1, one...)} {
		d := Summarize(j).decisions[0]
		for _, c := range []*canvas{d.draw(wideWidth, wideHeight, true), d.draw(narrowWidth, narrowHeight, true)} {
			text := string(c.inPage("x"))
			wellFormed(t, name, text)
			if n := strings.Count(text, `<a class="m `); n != len(d.marks) ||
				strings.Count(text, `<path class="runs"`) != n {
				t.Errorf("%s: %d marks of %d", name, n, len(d.marks))
			}
			for _, m := range d.marks {
				if !strings.Contains(text, fmt.Sprintf(`href="#cell%d"`, m.number)) {
					t.Errorf("%s: no link to cell %d", name, m.number)
				}
			}
		}
		wellFormed(t, name+", file", string(d.draw(fileWidth, fileHeight, false).file()))
	}
}

func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
	}
	for _, bad := range []string{"NaN", "Inf", "<script", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s: %q in it", name, bad)
		}
	}
}

// Names do not run into each other, nor over marks.
func TestNamesApart(t *testing.T) {
	var cells []plantest.Cell
	for i := range 20 {
		cells = append(cells, made(fmt.Sprint("mode-", i), 50+float64(i%3), 1+float64(i%4)/100))
	}
	c := Summarize(plantest.Journal(1, 6, cells...)).decisions[0].draw(narrowWidth, narrowHeight, true)
	names := c.taken[len(c.marks):] // the marks are first
	if len(names) == 0 {
		t.Error("no mark has a name")
	}
	for i, a := range names {
		for k, b := range c.taken {
			if k != len(c.marks)+i && a.hits(b) {
				t.Errorf("%v and %v", a, b)
			}
		}
	}
}

// Axes have round values, few of them, and none outside.
func TestSteps(t *testing.T) {
	for _, x := range []struct {
		lo, hi float64
		about  int
		want   string
	}{{0, 10, 5, "[0 2 4 6 8 10]"}, {0, 99, 4, "[0 50]"}, {98.2, 101.3, 5, "[99 100 101]"},
		{0, .013, 6, "[0 0.005 0.01]"}} {
		if got := fmt.Sprint(steps(x.lo, x.hi, x.about)); got != x.want {
			t.Errorf("%g..%g: %s, want %s", x.lo, x.hi, got, x.want)
		}
	}
}

// Of values between which there is next to no number, an axis ends.
func TestStepsOfNothing(t *testing.T) {
	for _, base := range []float64{1, 42.5, 1e16, 1e300} {
		hi := base
		for range 4 {
			hi = math.Nextafter(hi, math.Inf(1))
			if n := len(steps(base, hi, 5)); n > 11 {
				t.Errorf("%g: %d steps", base, n)
			}
		}
		d := &decision{marks: []mark{{x: &stat.Summary{Min: base, Max: hi}, y: &stat.Summary{Min: base, Max: hi}}}}
		if x, _ := (&canvas{decision: d, plate: plate{width: 400, height: 300}}).scales(); x.hi-x.lo < .05*base {
			t.Errorf("%g: an axis from %g to %g", base, x.lo, x.hi)
		}
	}
}

// Cells without a mark are named, and names of modes are no commands to a terminal.
func TestDecisionNamesTheRest(t *testing.T) {
	paced, costless, trips, evil := made("paced", 10, 1), made("b", 20, 0), made("c", 1, 1), made("\u202eevil", 30, 1)
	paced.PaceBitsPS, trips.TX, costless.TGCores = 10e9, "rr", 0
	c := Summarize(plantest.Journal(1, 6, made("a", 10, 1), evil, paced, costless, trips)).decisions[0].draw(wideWidth,
		wideHeight, true)
	for _, want := range []string{"1 cell has no busy cores of both hosts and is not shown: b/tcp.",
		"1 cell moves packets or makes round trips and is not shown: c/rr."} {
		if !strings.Contains(c.caption(), want) {
			t.Errorf("no %q in %q", want, c.caption())
		}
	}
	if len(c.marks) != 2 {
		t.Errorf("%d marks", len(c.marks))
	}
	for what, text := range map[string]string{"drawing": c.b.String(), "legend": fmt.Sprint(c.legend())} {
		if strings.Contains(text, "\u202e") || !strings.Contains(text, "evil") {
			t.Errorf("%s: %q", what, text)
		}
	}
}

// The page has the answer before all else, then the chart, then the tables; links lead somewhere.
func TestPageOrder(t *testing.T) {
	page := htmlPage(t, demo())
	at := 0
	for _, mark := range []string{`<section class="answer" id="answer">`, `<figure class="chart" id="cost_rate">`,
		`id="short"`, `<p class="dim doubt">`, `<details class="part" id="sentences">`, "<h2>Results</h2>",
		"<h2>Runs without a number</h2>", `<figure class="chart" id="decision">`, "<h2>Comparisons</h2>",
		"<h2>Plots</h2>",
		"<h2>Environment</h2>"} {
		i := strings.Index(page[at:], mark)
		if i < 0 {
			t.Fatalf("no %s where it belongs", mark)
		}
		at += i
	}
	for _, part := range strings.Split(page, `href="#`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		if !strings.Contains(page, ` id="`+id+`"`) {
			t.Errorf("a link to %s, which is not there", id)
		}
	}
	if n, m := strings.Count(page, "<details"), strings.Count(page, "</details>"); n != m || n < 5 {
		t.Errorf("%d details begin, %d end", n, m)
	}
	var b bytes.Buffer
	if err := Table(&b, Summarize(demo())); err != nil ||
		!strings.HasPrefix(b.String(), strings.SplitAfter(Summarize(demo()).Brief.Sentences()[0], " ")[0]) {
		t.Errorf("%v: %.80s", err, b.String())
	}
}
