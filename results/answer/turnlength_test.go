// SPDX-License-Identifier: MIT

package answer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// turnOf gives a cell turns of a length of its own.
func turnOf(c plantest.Cell, turn string) plantest.Cell {
	c.Turn, c.ID = turn, c.RX+"/"+c.TX+" turn="+turn
	return c
}

// inTurns says of the runs of a journal that they were made in turns of 60 ms, where their cells
// say nothing else.
func inTurns(j results.Journal) results.Journal {
	for i := range j.Records {
		if r := &j.Records[i]; r.Cell.Turn == "" {
			r.Turns = &results.Turns{TurnNs: 60e6, Turns: 34, Cells: 2}
		}
	}
	return j
}

// withoutLengths leaves out the cells that have turns of a length of their own.
func withoutLengths(j results.Journal) results.Journal {
	other := func(c *plan.Cell) bool { return c.Turn != "" }
	j.Header.Cells = slices.DeleteFunc(slices.Clone(j.Header.Cells), func(c plan.Cell) bool { return other(&c) })
	j.Records = slices.DeleteFunc(slices.Clone(j.Records), func(r results.Record) bool { return other(&r.Cell) })
	return j
}

// Where a comparison comes out otherwise at longer turns, or with runs one after another, the
// answer says so with both ratios, and which is to be believed: the longest. Where not, a line of
// the report says that, and the answer is as if nobody had looked.
func TestTurnLengths(t *testing.T) {
	tcp, uring := made("tcp", "tcp", 30, 1), made("uring", "tcp", 36, 1)
	own := []plantest.Cell{tcp, uring}
	at := func(turn string, gbps, cores float64) []plantest.Cell {
		return []plantest.Cell{turnOf(made("tcp", "tcp", 30, 1), turn), turnOf(made("uring", "tcp", gbps, cores), turn)}
	}
	for _, x := range []struct {
		name    string
		cells   []plantest.Cell
		reps    int
		says    string // in the answer; "": as without them
		report  string
		section answer.Section
	}{
		{"alike", slices.Concat(at("240ms", 36, 1), at("1s", 36.1, 1), at("none", 35.9, 1)), 8, "",
			"makes no difference that shows: receivers compare alike by turns of 240ms, by turns of 1s and one " +
				"after another.",
			answer.Shown},
		{"blocks differ", slices.Concat(at("240ms", 36, 1), at("1s", 36, 1), at("none", 31, 1)), 8,
			"uring times as fast as tcp by turns of 60ms 1.20 [", "and 1.03 [", answer.Shown},
		{"long turns differ", slices.Concat(at("240ms", 36, 1), at("1s", 39, 1)), 8,
			"believe the runs by turns of 1s.", "1.30 [", answer.Shown},
		{"short ones that longer ones do not confirm", slices.Concat(at("240ms", 39, 1), at("1s", 36, 1)), 8, "",
			"makes no difference that shows", answer.Shown},
		{"too few", at("1s", 39, 1), 5, "", "cannot be told of 1 comparison", answer.Open},
	} {
		j := inTurns(plantest.Journal(7, x.reps, slices.Concat(own, x.cells)...))
		s, plain := report.Summarize(j), report.Summarize(withoutLengths(j))
		brief := strings.Join(s.Brief.Sentences(), " ")
		if x.says == "" && brief != strings.Join(plain.Brief.Sentences(), " ") {
			t.Errorf("%s: %s", x.name, brief)
		}
		if !strings.Contains(brief, x.says) || strings.Contains(brief, "length of turns") != (x.says != "") {
			t.Errorf("%s: %s, want %q", x.name, brief, x.says)
		}
		long := sentence(t, s.Answer, answer.Lengths, "")
		if !strings.Contains(long.Text, x.report) || long.Section != x.section {
			t.Errorf("%s: %s %s, want %q", x.name, long.Section, long.Text, x.report)
		}
		bears(t, x.name, s.Answer)
		// They take part in nothing else: neither in a comparison nor in an order.
		for _, r := range s.Compared.Rows {
			if r.A.Turn != "" || r.B.Turn != "" {
				t.Errorf("%s: %s is compared with %s", x.name, r.B.ID, r.A.ID)
			}
		}
		p := func(s *report.Summary) (out string) {
			for _, r := range s.Compared.Rows {
				out += fmt.Sprintf("%s %.6g ", r.Metric, r.Diff.Adjusted)
			}
			return out
		}
		if p(s) != p(plain) {
			t.Errorf("%s: p of %s, want %s", x.name, p(s), p(plain))
		}
		if n := len(s.Brief.Rows); n != 2 {
			t.Errorf("%s: a table of %d cells", x.name, n)
		}
	}
}

// Where turns hide nothing, answers that say they do are as rare as docs/statistics.md says.
func TestTurnLengthsAgree(t *testing.T) {
	said, rounds := 0, long.Rounds(40, 1000)
	for i := range rounds {
		var cells []plantest.Cell
		for _, turn := range []string{"", "240ms", "1s", "none"} {
			for n, rx := range []string{"tcp", "uring", "tcp-mmap", "zcrx", "devmem"} {
				c := noisy(made(rx, "tcp", 30+float64(n), 1), .02)
				if turn != "" {
					c = turnOf(c, turn)
					c.Most = 6
				}
				cells = append(cells, c)
			}
		}
		s := report.Summarize(inTurns(plantest.Journal(uint64(i), 8, cells...)))
		if strings.HasPrefix(sentence(t, s.Answer, answer.Lengths, "").Text, "The length of turns matters") {
			said++
		}
	}
	t.Logf("%d of %d", said, rounds)
	if share := float64(said) / float64(rounds); share > .03+3*math.Sqrt(.03*.97/float64(rounds)) {
		t.Errorf("in %.1f %% of %d plans the length of turns seems to matter", 100*share, rounds)
	}
}
