// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"

	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/why"
)

//go:embed why.html.tmpl
var whyText string

// mostWhys is of how many comparisons a report says what makes the difference; `zcbench compare
// --why` does of any.
const mostWhys = 40

// whyOf explains what makes the difference between cells that were profiled, by what records say:
// the counters of metrics are left to `zcbench compare --why`, so that a report need not read them.
//
// more is how many others could be asked about.
func whyOf(r *compare.Result) (out []*why.Result, more int) {
	if r == nil {
		return nil, 0
	}
	couples := r.Couples()
	for i := range couples {
		if len(out) == mostWhys {
			if why.Comparable(&couples[i]) {
				more++
			}
			continue
		}
		if w, err := why.Explain(&couples[i], false); err == nil {
			out = append(out, w)
		}
	}
	return out, more
}

// whySection is all of it. More is how many comparisons have no place in it.
type whySection struct {
	Ends []whyView
	More int
}

// whyView is an end of a comparison.
type whyView struct {
	Title, End, Event   string
	RunsA, RunsB        int
	Classes             []whyRow
	Done                []whyRow
	Functions, Counters []whyRow
	Sentences           []string
	Method              []string // with the last of them
}

type whyRow struct {
	Name, Dim string
	Class     string // of the row's style
	Fields    []string
}

func whyViews(all []*why.Result) (out []whyView) {
	for k, r := range all {
		for i := range r.Ends {
			v := newWhyView(r, &r.Ends[i])
			if i == len(r.Ends)-1 {
				v.Sentences = append(v.Sentences, r.Remarks...)
				if k == len(all)-1 {
					v.Method = why.MethodOf(all)
				}
			}
			out = append(out, v)
		}
	}
	return out
}

func newWhyView(r *why.Result, e *why.End) whyView {
	v := whyView{Title: r.Title(), End: e.Role.Label(), Event: e.Event, RunsA: len(e.RunsA), RunsB: len(e.RunsB),
		Sentences: e.Sentences()}
	add := func(name string, l *why.Line) {
		row := whyRow{Name: name, Fields: l.Fields(true)}
		switch {
		case !l.Differs || l.Vague:
		case l.Diff < 0:
			row.Class = "good"
		default:
			row.Class = "bad"
		}
		v.Classes = append(v.Classes, row)
	}
	add("CPU, all classes", &e.CPU)
	named, vague := e.Shown()
	for i := range named {
		add(named[i].Name, &named[i])
	}
	if e.Explained != nil && len(named) > 1 {
		v.Classes = append(v.Classes, whyRow{Name: "explained", Fields: e.Explained.Fields()})
	}
	if e.Explained != nil || len(vague) > 0 { // else it is all of it, and says nothing
		v.Classes = append(v.Classes, whyRow{Name: "unexplained", Fields: e.Unexplained.Fields()})
	}
	for i := range vague {
		add("of it "+vague[i].Name, &vague[i])
	}
	for i := range e.Done {
		f := e.Done[i].Fields()
		v.Done = append(v.Done, whyRow{Name: f[0], Fields: f[1:]})
	}
	functions := why.Differing(e.Functions)
	for i := range functions[:min(len(functions), maxFunctions)] {
		f := &functions[i]
		v.Functions = append(v.Functions, whyRow{Name: f.Name, Dim: f.Where + ", " + f.Class, Fields: f.Fields(true)})
	}
	counters := why.Differing(e.Counters)
	for i := range counters {
		v.Counters = append(v.Counters, whyRow{Name: counters[i].Name, Dim: counters[i].Unit,
			Fields: counters[i].CounterFields()})
	}
	return v
}
