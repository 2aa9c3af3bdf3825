// SPDX-License-Identifier: MIT

package answer_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// One entry of lines adds a line: what it says where it has something to say is the report's first
// line, in the page and the JSON, and all others stay.
func TestOneLineAddsALine(t *testing.T) {
	const text = "In short: the cells were measured at full moon."
	j := plantest.Journal(7, 8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1))
	before := report.Summarize(j).Answer
	undo := answer.AddFirstLine(func(e *answer.Evidence) bool { return e.Set != nil && len(e.Set.Cells) > 1 },
		func(e *answer.Evidence) answer.Sentence {
			id := e.Set.Cells[0].Cell.ID
			return answer.Sentence{Section: answer.Shown, Kind: "moon", Cells: []string{id}, Text: text,
				StandsOn: answer.StandingOn(id, "full")}
		})
	defer undo()

	s := report.Summarize(j)
	if s.Answer.Sentences[0].Text != text || len(s.Answer.Sentences) != len(before.Sentences)+1 {
		t.Errorf("%q, before %q", said(s.Answer), said(before))
	}
	bears(t, "with one more", s.Answer)
	var page bytes.Buffer
	if err := report.HTML(&page, s, nil); err != nil || !strings.Contains(page.String(), text) {
		t.Errorf("the page does not have it: %v", err)
	}
	if one := report.Summarize(plantest.Journal(7, 8,
		made("tcp", "tcp", 20, 1))); one.Answer.Sentences[0].Text == text {
		t.Error("it speaks where it has nothing to say")
	}
}
