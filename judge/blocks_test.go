// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

// tried writes the tries of blocks of the cells a, b, c...: one word each, "1.2:oxo" is repetition
// 1, made as try 2, of which something else spoilt the second run; - is a run that was not made, p
// one that failed its proof, w a warm-up that was spoilt.
func tried(tries string) (recs []results.Record) {
	for word := range strings.FieldsSeq(tries) {
		var rep, number int
		at, runs, _ := strings.Cut(word, ":")
		if _, err := fmt.Sscanf(at, "%d.%d", &rep, &number); err != nil {
			panic(err)
		}
		for i, verdict := range runs {
			r := results.Record{RunID: fmt.Sprint("r", len(recs)), Rep: rep, Try: number, Verdict: results.OK,
				Cell: plan.Cell{ID: string(rune('a' + i)), MTU: 1500 + i}}
			switch r.Warmup = verdict == 'w'; verdict {
			case '-':
				continue
			case 'p':
				r.Fail(plan.ByProof, "it copied", "")
			case 'x', 'w':
				r.Fail(plan.ByEnvironment, "foreign load", "end it")
			}
			recs = append(recs, r)
		}
	}
	return recs
}

// counted lists which runs count, as tried has them.
func counted(recs []results.Record) string {
	var b strings.Builder
	last := ""
	for i := range recs {
		r := &recs[i]
		if at := fmt.Sprintf("%d.%d", r.Rep, r.Try); at != last {
			fmt.Fprintf(&b, " %s:", at)
			last = at
		}
		switch {
		case r.Verdict == results.OK:
			b.WriteString(r.Cell.ID)
		case r.FailedGate() == plan.ByProof:
			b.WriteString("p")
		case strings.HasPrefix(r.Reason, results.BlockSpoilt):
			b.WriteString("-")
		default:
			b.WriteString("x")
		}
	}
	return b.String()[min(1, b.Len()):]
}

// Of a block that was made again the last try counts, but for what something else spoilt of it.
// Runs of older journals, which have no tries, are judged as they were written, and so are
// warm-ups.
func TestBlocks(t *testing.T) {
	for _, x := range []struct{ tries, want string }{
		{"0.1:ooo 1.1:ooo", "0.1:abc 1.1:abc"},
		{"0.1:oxo 0.2:ooo 1.1:ooo", "0.1:-x- 0.2:abc 1.1:abc"},
		{"0.1:oxo 1.1:ooo", "0.1:axc 1.1:abc"}, // there was no time to make it again
		{"0.1:opo 1.1:pox", "0.1:apc 1.1:pbx"},
		{"0.1:oxo 0.2:xoo 0.3:oox", "0.1:-x- 0.2:x-- 0.3:abx"},
		{"0.1:oxo 0.2:o", "0.1:-x- 0.2:a"}, // under way
		{"0.1:xxx 0.2:xxx 0.3:xxx 1.1:xxx", "0.1:xxx 0.2:xxx 0.3:xxx 1.1:xxx"},
		{"0.1:oxo 0.2:oxo 0.3:oxo 1.1:oxo 2.1:ooo 3.1:oxo", "0.1:-x- 0.2:-x- 0.3:axc 1.1:axc 2.1:abc 3.1:axc"},
		{"0.0:oxo 0.0:-o- 1.0:oxo", "0.0:axcb 1.0:axc"},
		{"0.1:wo", "0.1:xb"},
	} {
		recs := tried(x.tries)
		for range 2 { // nor is anything else found the second time
			Settle(recs)
			if got := counted(recs); got != x.want {
				t.Errorf("%s: %s, want %s", x.tries, got, x.want)
			}
		}
	}
	recs := tried("0.1:oxo 0.2:ooo")
	Settle(recs)
	if r := &recs[0]; r.Reason != results.BlockSpoilt+": run r1, b: foreign load" || r.Fix != "end it" || !r.Spoilt() {
		t.Errorf("%q, %q, %s", r.Reason, r.Fix, r.Gate)
	}
}

// A report counts what was made again, and has one line for all that does not count for others.
func TestBlocksInReport(t *testing.T) {
	j := results.Journal{Records: tried("0.1:oxo 0.2:xoo 0.3:ooo 1.1:oox 1.2:ooo")}
	Apply(&j)
	s := report.Summarize(j)
	for _, c := range s.Cells {
		if c.OK != 2 || c.Made != 2 || c.Replaced != 3 || c.Invalid != 3 {
			t.Errorf("%s: %d ok, %d made, %d replaced, %d invalid", c.Cell.ID, c.OK, c.Made, c.Replaced, c.Invalid)
		}
	}
	if len(s.Stops) != 2 || s.Stops[0].Reason != results.BlockSpoilt+" (which one: runs.csv, reason)" ||
		s.Stops[0].Runs != 6 || s.Stops[1].Reason != "foreign load" || s.Stops[1].Runs != 3 {
		t.Errorf("%+v", s.Stops)
	}
}

// A block's next try follows from what a journal has of it.
func TestNextTry(t *testing.T) {
	for tries, want := range map[string]string{"": "1 false", "0.1:oo": "1 false", "0.1:o": "1 false",
		"0.1:xo": "2 true", "0.1:xo 0.2:o": "2 false", "0.1:xo 0.2:ox": "3 true", "1.1:xo": "1 false",
		"0.1:xo 0.2:ox 0.3:x":             "3 false",
		"1.1:oxo 1.2:oxo 1.3:oxo 0.1:oxo": "1 false", // nothing helps b
		"1.1:pxp 1.2:pxp 1.3:pxp 0.1:oxp": "2 true",  // nothing told that others are well
	} {
		var b Blocks
		for _, r := range tried(tries) {
			b.Add(&r)
		}
		number, again := b.Next(0, 2)
		if got := fmt.Sprint(number, again); got != want {
			t.Errorf("%q: %s, want %s", tries, got, want)
		}
	}
}
