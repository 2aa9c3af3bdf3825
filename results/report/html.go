// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/csp"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/compare"
)

//go:embed report.html.tmpl
var pageText string

//go:embed report.css
var pageStyle string

//go:embed report.js
var pageScript string

// The template package escapes every text by where it stands: reasons and
// names come from other machines.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{"sweepIntro": func() string {
		return sweepIntro
	}}).Parse(pageText + packetsText + lossFreeText + ladderText + roiText +
		flowsText + costText + probeText + flameText + whyText + tripsText + alongText + costRateText +
		hardwareText + polledText + sweepText))
})

// HTML writes the summary as one page that needs nothing else: no network, styles, plots and
// scripts inside. Without scripts it is whole, and does not answer.
func HTML(w io.Writer, s *Summary, figures []Figure) error {
	return page().Execute(w, newView(s, figures))
}

// view is the summary as texts and positions.
type view struct {
	*Summary
	Title   string
	Created string
	Left    string // which cells are not shown
	Rows    []rowView
	Notes   []string
	Facts   []factView
	Plots   []plotView
	Against []againstView

	Short     *shortView // the answer
	Told      []toldView // all sentences
	Rates     []rateView // cost against rate
	Decisions []decisionView
	Style     template.CSS
	Script    template.JS
	Gates     []string
	Probes    probeView
	Whys      whySection
	Packets   []packetView // of cells that move such
	Swept     []sweepView
}

type plotView struct {
	Title, Caption string
	SVG            template.HTML // made by the plot library of figures and plain labels, which it escapes
}

// againstView is a row of the comparison.
type againstView struct {
	Cell, Beside, About string
	Metric, Unit        string
	A, B                string
	Ratio, Interval, P  string
	Runs                string
	Verdict, Class      string
}

type rowView struct {
	Number              int
	RX, TX, Setting     string
	Gbps, Interval      string
	BusySUT, BusyTG, NS string
	CopiedRX, CopiedTX  string
	ROISUT, ROITG       string
	PowerSUT, PowerTG   string
	BySUT, ByTG         string // their instruments
	Verdict             string
	Good                bool
	Stops               []int
}

// factView is a row of the environment table.
type factView struct {
	Name, SUT, TG string
}

func newView(s *Summary, figures []Figure) view {
	left := firstOf(mostShown, len(s.Cells))
	s = s.first(mostShown)
	v := view{Summary: s, Left: left, Title: "zcbench: zero-copy receive benchmark", Notes: noteLines(s)}
	if s.Header.CreatedUTCNs != 0 {
		v.Created = time.Unix(0, s.Header.CreatedUTCNs).UTC().Format("2006-01-02 15:04 UTC")
	}
	under := settings(s.Cells)
	for i := range s.Cells {
		row := newRow(&s.Cells[i], under[i])
		row.Number = i + 1
		v.Rows = append(v.Rows, row)
		if s.Cells[i].Cell.MovesPackets() {
			v.Packets = append(v.Packets, newPacketView(&s.Cells[i], row))
		}
	}
	v.Facts = factRows(s.SUT, s.TG)
	for _, f := range figures {
		if !bySelf(f.Name) {
			v.Plots = append(v.Plots, plotView{f.Title, f.Caption, template.HTML(f.Inline())})
		}
	}
	v.Against = againstRows(s.Compared)
	v.Short = newShortView(s.Brief)
	v.Told, v.Rates = toldViews(s.Answer), rateViews(s.CostRate)
	for _, d := range s.decisions {
		v.Decisions = append(v.Decisions, newDecisionView(d))
	}
	v.Style, v.Script = template.CSS("\n"+chartStyle+pageStyle), template.JS("\n"+pageScript)
	v.Gates = gateLines(s.Header.Plan)
	v.Probes = newProbeView(s.Cells)
	v.Swept = sweepViews(s.Sweeps, figures)
	v.Whys = whySection{whyViews(s.Why), s.WhyMore}
	return v
}

func againstRows(r *compare.Result) []againstView {
	if r == nil {
		return nil
	}
	var out []againstView
	for i := range r.Rows {
		row := &r.Rows[i]
		v := againstView{Cell: row.B.ID, Beside: row.A.ID, About: row.Factor, Metric: row.Metric, Unit: row.Unit,
			A: median(row.SumA, digits3), B: median(row.SumB, digits3),
			Ratio: row.RatioText(), P: row.PText(), Verdict: row.VerdictText(), Runs: row.Runs()}
		if all := row.AllText(); all != "" {
			v.Verdict += "; with all runs: " + all
		}
		if lo, hi := row.Interval(); lo != "-" {
			v.Interval = lo + ".." + hi
		}
		switch {
		case row.Verdict.Good():
			v.Class = "good"
		case row.Verdict.Bad():
			v.Class = "bad"
		}
		out = append(out, v)
	}
	return out
}

// gateLines lists the limits that the runs were held to.
func gateLines(p *plan.Origin) []string {
	if p == nil {
		return nil
	}
	var out []string
	if p.Gates.Limit != "" {
		out = append(out, "what limits each run: "+string(p.Gates.Limit))
	}
	acted := map[bool]string{true: "not looked at", false: "flagged"}[p.Gates.IgnoreInert]
	if p.Gates.Asks(plan.ActedGate) {
		acted = "invalid"
	}
	out = append(out, "options without effect: "+acted)
	for _, l := range plan.Limits {
		limit := "not looked at"
		if v := *l.At(&p.Gates); v != nil {
			scale, percent := 1.0, ""
			if l.Share {
				scale, percent = 100, " %"
			}
			limit = map[bool]string{false: "at most ", true: "at least "}[l.Least()] + strconv.FormatFloat(*v*scale,
				'g', 4, 64) + percent + l.Unit
		}
		if *l.At(&p.Gates) != nil {
			limit += ", else " + consequence(&p.Gates, l)
		}
		out = append(out, l.Name+": "+limit)
	}
	return out
}

// consequence describes what becomes of runs that exceed a limit.
func consequence(g *plan.Gates, l plan.Limit) string {
	switch {
	case l.Marks() && !g.Asks(l.Key):
		return "flagged"
	case l.Class == plan.ByEnvironment:
		return fmt.Sprintf("repeated with its block, at most %d times", g.Replacements())
	}
	return "invalid"
}

func newRow(c *Cell, setting string) rowView {
	gbps, between := c.throughput()
	return rowView{
		RX: c.Cell.RX, TX: c.Cell.TX, Setting: setting,
		Gbps: gbps, Interval: between,
		BusySUT: median(c.SUT.BusyCores, fixed2), BusyTG: median(c.TG.BusyCores, fixed2),
		NS:       median(c.SUT.NsPerKB, digits3),
		CopiedRX: copied(c.SUT.Proof), CopiedTX: copied(c.TG.Proof),
		ROISUT: median(c.SUT.ROICPU, digits3), ROITG: median(c.TG.ROICPU, digits3),
		PowerSUT: median(c.SUT.PowerW, digits3), PowerTG: median(c.TG.PowerW, digits3),
		BySUT: strings.Join(c.SUT.PowerBy, ", "), ByTG: strings.Join(c.TG.PowerBy, ", "),
		Verdict: strings.TrimSuffix(verdict(c)+"; "+remarks(c), "; "), Good: c.OK > 0 && c.Invalid == c.Replaced &&
			c.Failed+c.Unsupported == 0, Stops: c.Stops,
	}
}

// Policy builds the page's content security policy, which lets it load and run only its own style
// and script and those of flame graphs.
func (v view) Policy() string {
	styles, scripts := []string{string(v.Style)}, []string{string(v.Script)}
	if v.Flames != nil {
		styles, scripts = append(styles, string(v.Flames.InPage())), append(scripts, string(v.Flames.Script))
	}
	return csp.Policy(styles, scripts)
}

// Power reports whether any cell has a power figure: otherwise the columns are left out.
func (v view) Power() bool {
	for _, c := range v.Cells {
		if c.SUT.PowerW != nil || c.TG.PowerW != nil {
			return true
		}
	}
	return false
}

func factRows(sut, tg Machine) []factView {
	out := []factView{{"host", orNone(sut.Name), orNone(tg.Name)}}
	at := map[string]int{}
	add := func(list []compare.EnvFact, field func(*factView) *string) {
		for _, f := range list {
			if _, ok := at[f.Name]; !ok {
				at[f.Name] = len(out)
				out = append(out, factView{f.Name, none, none})
			}
			*field(&out[at[f.Name]]) = f.Value
		}
	}
	add(sut.Facts, func(f *factView) *string { return &f.SUT })
	add(tg.Facts, func(f *factView) *string { return &f.TG })
	return out
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}
