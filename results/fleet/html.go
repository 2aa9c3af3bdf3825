// SPDX-License-Identifier: MIT

package fleet

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/csp"
	"github.com/zcbench/zcbench/results/report"
)

//go:embed fleet.html.tmpl
var pageText string

//go:embed fleet.css
var pageStyle string

// The template package escapes every text by where it stands.
var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("fleet").Parse(pageText)) })

// HTML writes the fleet as one page that needs nothing else: no network, and no scripts to be
// whole.
func (f *Fleet) HTML(w io.Writer) error { return page().Execute(w, newView(f)) }

// mostColumns is how many cells the page has a column for; the figures of all are in the CSV file.
const mostColumns = 60

type view struct {
	*Fleet
	Style   template.CSS
	Script  template.JS
	Policy  string
	Created string
	Line    string
	Named   []namedView
	Heads   []headView
	Rows    []rowView
	More    int
	States  []string
}

type namedView struct {
	Title string
	Lines []string
}

type headView struct {
	Number         int
	ID             string
	Median, Spread string
	Pairs, Of      int
}

type rowView struct {
	Number                 int
	Name, Dir, SUT, TG     string
	Runs, Off, Interval, P string
	Verdict, Class, State  string
	Problem, Fix           string
	Because                []string
	Differs                []string
	Cells                  []cellView
	Created                string
}

type cellView struct {
	Off, Median, Interval, Class, Why string
}

func newView(f *Fleet) view {
	v := view{Fleet: f, Style: report.PageStyle() + template.CSS(pageStyle), Script: report.PageScript(),
		Line: f.Summary()}
	v.Policy = csp.Policy([]string{string(v.Style)}, []string{string(v.Script)})
	for _, x := range []struct {
		title string
		all   []common
	}{{"Hosts that are off in all their pairs", f.Hosts}, {"What hosts that are off have in common", f.Factors}} {
		n := namedView{Title: x.title}
		for i := range x.all {
			n.Lines = append(n.Lines, x.all[i].Says(f))
		}
		if len(n.Lines) > 0 {
			v.Named = append(v.Named, n)
		}
	}
	v.More = max(0, len(f.Cells)-mostColumns)
	for i, c := range f.Cells[:len(f.Cells)-v.More] {
		h := headView{Number: i + 1, ID: c.ID, Median: figure(c.Median), Spread: "-", Pairs: c.Pairs, Of: len(f.Pairs)}
		if c.Spread != nil {
			h.Spread = strconv.FormatFloat(100**c.Spread, 'f', 2, 64)
		}
		v.Heads = append(v.Heads, h)
	}
	newest := int64(0)
	for i, p := range f.inOrder() {
		row := f.rowView(p, len(v.Heads))
		row.Number = i + 1
		v.Rows = append(v.Rows, row)
		newest = max(newest, p.StartUTCNs)
	}
	if newest > 0 {
		v.Created = stamp(newest)
	}
	return v
}

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02 15:04 UTC") }

func (f *Fleet) rowView(p *pair, columns int) rowView {
	r := rowView{Name: p.Name, Dir: p.Dir, SUT: p.SUT.String(), TG: p.TG.String(),
		Runs: fmt.Sprintf("%d of %d", p.Runs.OK, p.Runs.All()),
		Off:  "-", Interval: p.Overall.Interval(), P: p.Overall.Chance(), Verdict: "no figure", Problem: p.Problem,
		Fix: p.Fix, Because: p.Because, Cells: make([]cellView, columns)}
	if p.State != complete {
		r.State = string(p.State) + ": " + p.State.says()
	}
	if p.StartUTCNs > 0 {
		r.Created = stamp(p.StartUTCNs)
	}
	if o := p.Overall; o != nil {
		r.Off, r.Verdict = percent(o.Share), o.Words(f)
	} else if !p.Failed() {
		r.Verdict = "nothing to hold it against"
	}
	if v := p.worst(); v != p.overallVerdict() {
		r.Verdict += "; " + f.Word(v) + " in some cells"
	}
	r.Class = class(p.worst())
	if p.Failed() {
		r.Class = "bad"
	}
	for _, d := range p.Differs {
		r.Differs = append(r.Differs, d.String())
	}
	for i := range r.Cells {
		r.Cells[i] = cellView{Off: "-"}
	}
	for i := range p.Figures {
		if c := &p.Figures[i]; c.Cell < columns {
			r.Cells[c.Cell] = f.cellView(c)
		}
	}
	return r
}

func (p *pair) overallVerdict() verdict {
	if p.Overall == nil {
		return unsure
	}
	return p.Overall.Verdict
}

func class(v verdict) string {
	switch v {
	case Worse:
		return "bad"
	case Better:
		return "good"
	}
	return ""
}

func (f *Fleet) cellView(c *Figure) cellView {
	v := cellView{Off: "-", Median: figure(c.Median)}
	if c.N == 0 {
		v.Median, v.Why = "", c.Reason
		return v
	}
	if c.Off != nil {
		v.Off, v.Interval, v.Class = percent(c.Off.Share), c.Off.Interval(), class(c.Off.Verdict)
		if !slices.Contains([]verdict{Better, Worse, unsure}, c.Off.Verdict) {
			v.Interval = c.Off.Words(f)
		}
	}
	return v
}
