// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results/answer"
)

// shortView is the short answer in the page.
type shortView struct {
	Sentences [][]piece
	Rows      [][]string
	OpenMeans string // of a row, what its verdict is
	Doubts    []string
}

func newShortView(b *answer.Brief) *shortView {
	if b == nil {
		return nil
	}
	v := &shortView{Rows: b.Rows, OpenMeans: b.OpenMeans(), Doubts: b.Doubts}
	for _, s := range b.Sentences() {
		var parts []piece
		for i, text := range strings.Split(plaintext.Line(s), "`") { // commands are in backquotes
			parts = append(parts, piece{text, i%2 == 1})
		}
		v.Sentences = append(v.Sentences, parts)
	}
	return v
}

// toldView is a section of the answer in the page.
type toldView struct {
	Heading   string
	Section   answer.Section
	Sentences []sentenceView
}

type sentenceView struct {
	Parts   []piece
	Stops   []int
	Summary string   // of what it stands on
	On      []string // the verdicts
}

// piece is a part of a sentence: words, or a command.
type piece struct {
	Text string
	Code bool
}

// mostVerdicts is how many of a sentence's verdicts the page names; JSON has all.
const mostVerdicts = 40

func toldViews(a *answer.Answer) (out []toldView) {
	for _, s := range answer.Sections {
		v := toldView{Heading: s.Heading, Section: s.Section}
		for _, x := range a.In(s.Section) {
			v.Sentences = append(v.Sentences, sentenceView{partsOf(&x), x.Stops(), plural(len(x.StandsOn), "verdict"),
				standsOn(&x)})
		}
		if v.Sentences != nil {
			out = append(out, v)
		}
	}
	return out
}

func partsOf(s *answer.Sentence) (out []piece) {
	text := strings.ReplaceAll(plaintext.Line(s.Text), "throughput^2", "throughput²")
	if before, after, ok := strings.Cut(text, s.Command); s.Command != "" && ok {
		return []piece{{before, false}, {s.Command, true}, {after, false}}
	}
	return []piece{{text, false}}
}

func standsOn(s *answer.Sentence) (out []string) {
	for i, v := range s.StandsOn {
		if i == mostVerdicts {
			return append(out, fmt.Sprintf("and %d more: zcbench report --json", len(s.StandsOn)-i))
		}
		var b strings.Builder
		b.WriteString(v.Cell)
		if v.Beside != "" && v.Beside != v.Cell {
			b.WriteString(" beside " + v.Beside)
		}
		if v.Figure != "" {
			b.WriteString(", " + v.Figure)
		}
		b.WriteString(": " + v.Verdict)
		if q := v.Ratio; q != nil {
			fmt.Fprintf(&b, ", ratio %.3f", q.Value)
			if q.Lo != nil {
				fmt.Fprintf(&b, " [%.3f..%.3f]", *q.Lo, *q.Hi)
			}
		}
		if v.Adjusted != nil {
			fmt.Fprintf(&b, ", p %.2g", *v.Adjusted)
		}
		if v.Runs != "" && v.Beside != "" {
			b.WriteString(", " + v.Runs + " runs")
		}
		out = append(out, plaintext.Line(b.String()))
	}
	return out
}

// decisionView is the decision's chart in the page: for wide screens, and for phones, whose letters
// would be too small in the same.
type decisionView struct {
	ID, Title, Caption string
	Wide, Narrow       template.HTML
	Legend             []legendList
}

func newDecisionView(d *decision) decisionView {
	c := d.draw(wideWidth, wideHeight, true)
	return decisionView{ID: d.file, Title: "Throughput against " + d.axis(), Caption: c.caption(), Legend: c.legend(),
		Wide: c.inPage("broad"), Narrow: d.draw(narrowWidth, narrowHeight, true).inPage("narrow")}
}
