// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"html/template"
)

//go:embed flame.html.tmpl
var flameText string

// Flames are the flame graphs of a report. Package profile draws them, which is above this one
// and escapes every name; whoever makes a report of a folder hands them over.
type Flames struct {
	Style  template.CSS
	Script template.JS // makes them answer
	Graphs []Flame
}

// Flame is the graph of one end of a cell, of its runs' profiles together.
type Flame struct {
	Number    int // the cell's, from 1
	Cell, End string
	SVG       template.HTML // empty: there is none, and Notes say why
	Notes     []string
}

// InPage returns the style that the report needs for its graphs.
func (f *Flames) InPage() template.CSS {
	return f.Style + " .flamegraph svg { width: 100%; min-width: 50rem; height: auto; background: #fff; } " +
		".flamegraph input { font: inherit; }"
}

// ProfiledEnd is an end of a cell whose runs have profiles.
type ProfiledEnd struct {
	Number int    // the cell's, from 1
	Cell   string // its short name
	End    string // "SUT", "TG"
	Runs   []string
}

// ProfiledEnds collects the profiled ends of all cells, in their order.
func (s *Summary) ProfiledEnds() (out []ProfiledEnd) {
	names := shortNames(s.Cells)
	for i := range s.Cells {
		for _, e := range []struct {
			name string
			end  *End
		}{{"SUT", &s.Cells[i].SUT}, {"TG", &s.Cells[i].TG}} {
			if p := profileIn(e.end); p != nil {
				out = append(out, ProfiledEnd{i + 1, names[i], e.name, p.runs})
			}
		}
	}
	return out
}
