// SPDX-License-Identifier: MIT

package answer_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

var update = flag.Bool("update", false, "write testdata/briefs.golden anew")

// at paces a cell.
func at(c plantest.Cell, gbps float64) plantest.Cell {
	c.PaceBitsPS, c.Gbps, c.Limit = int(gbps*1e9), gbps, plan.ByPace
	c.ID = fmt.Sprintf("%s/%s pace=%gG", c.RX, c.TX, gbps)
	return c
}

// noisy lets the runs of a cell vary.
func noisy(c plantest.Cell, cv float64) plantest.Cell { c.CV = cv; return c }

// moves says how many bytes of DRAM a cell moves per byte of payload.
func moves(c plantest.Cell, bytes float64) plantest.Cell { c.DRAM = bytes; return c }

// carries says how many of these bytes caches may carry from turn to turn.
func carries(c plantest.Cell, bytes float64) plantest.Cell { c.Carried = bytes; return c }

// by says what limited the runs of a cell.
func by(c plantest.Cell, l plan.LimitedBy) plantest.Cell { c.Limit = l; return c }

// briefs are experiments of each kind of answer.
var briefs = []struct {
	name  string
	reps  int
	cells []plantest.Cell
}{
	{"cheaper at one pace, and faster", 8, []plantest.Cell{made("tcp", "tcp", 30, 1), made("uring", "tcp", 35, 1),
		at(made("tcp", "tcp", 0, 1), 20), at(made("uring", "tcp", 0, .8), 20)}},
	{"senders as well, and no NIC", 8, []plantest.Cell{made("tcp", "tcp", 30, 1), made("uring", "tcp", 35, 1),
		made("tcp", "sendfile", 36, 1), {Cell: plantest.Modes("zcrx", "tcp"),
			Reason: "no queue management in driver veth"},
		{Cell: plantest.Modes("devmem", "tcp"), Reason: "no queue management in driver veth"}}},
	{"dearer at a high pace, cheaper at a low one", 8, []plantest.Cell{at(made("tcp", "tcp", 0, .5), 10),
		at(made("uring", "tcp", 0, .4), 10), at(made("tcp", "tcp", 0, 1), 40), at(made("uring", "tcp", 0, 1.2), 40)}},
	{"twice as cheap", 8, []plantest.Cell{at(made("tcp", "tcp", 0, 1), 20), at(made("zcrx", "tcp", 0, .3), 20)}},
	{"equal", 16, []plantest.Cell{made("tcp", "tcp", 30, 1), made("uring", "tcp", 30, 1),
		at(made("tcp", "tcp", 0, 1), 20), at(made("uring", "tcp", 0, 1), 20)}},
	{"not decided", 10, []plantest.Cell{noisy(made("tcp", "tcp", 30, 1), .1), noisy(made("uring", "tcp", 30.4, 1),
		.1)}},
	{"one decided, one not", 10, []plantest.Cell{made("tcp", "tcp", 30, 1), made("uring", "tcp", 35, 1),
		noisy(made("tcp-mmap", "tcp", 31, 1), .1)}},
	{"too few runs", 3, []plantest.Cell{made("tcp", "tcp", 30, 1), made("uring", "tcp", 35, 1)}},
	{"a pace that one misses", 8, []plantest.Cell{func() plantest.Cell {
		c := at(made("tcp", "tcp", 0, 1), 20)
		c.Gbps = 17
		return c
	}(), at(made("uring", "tcp", 0, .9), 20)}},
	{"the sender was the limit of both", 8, []plantest.Cell{by(made("tcp", "tcp", 30, 1), plan.BySender),
		by(made("uring", "tcp", 31, 1), plan.BySender)}},
	{"the sender was the limit of the faster", 8, []plantest.Cell{by(made("tcp", "tcp", 20, 1), plan.ByReceiver),
		by(made("uring", "tcp", 34, 1), plan.BySender)}},
	{"the sender was the limit of the slower", 8, []plantest.Cell{by(made("tcp", "tcp", 34, 1), plan.ByReceiver),
		by(made("uring", "tcp", 20, 1), plan.BySender)}},
	{"the baseline was held up and is faster", 8, []plantest.Cell{by(made("tcp", "tcp", 34, 1), plan.BySender),
		by(made("uring", "tcp", 20, 1), plan.ByReceiver)}},
	{"one CPU for both", 8, []plantest.Cell{by(made("tcp", "tcp", 30, 1), plan.ByOneCPU),
		by(made("uring", "tcp", 31, 1), plan.ByOneCPU)}},
	{"the path", 8, []plantest.Cell{by(made("tcp", "tcp", 5, 1), plan.ByPath),
		by(made("uring", "tcp", 5, 1), plan.ByPath)}},
	{"no CPU time was measured", 8, []plantest.Cell{{Cell: plantest.Modes("tcp", "tcp"), Gbps: 20, CV: .005},
		{Cell: plantest.Modes("uring", "tcp"), Gbps: 25, CV: .005}}},
	{"zero copy moves less memory", 10, []plantest.Cell{moves(at(made("tcp", "tcp", 0, 1), 20), 3.1),
		moves(at(made("zcrx", "tcp", 0, .6), 20), 1), moves(at(made("uring", "tcp", 0, .8), 20), 3.1)}},
	{"memory at one CPU time", 16, []plantest.Cell{moves(at(made("tcp", "tcp", 0, 1), 20), 3.1),
		moves(at(made("zcrx", "tcp", 0, 1), 20), 1)}},
	{"memory in short turns", 10, []plantest.Cell{carries(moves(at(made("tcp", "tcp", 0, 1), 20), 3.1), .09),
		carries(moves(at(made("zcrx", "tcp", 0, .6), 20), 1), .09)}},
	{"memory beside a large cache", 10, []plantest.Cell{carries(moves(at(made("tcp", "tcp", 0, 1), 20), 3.1), 1.2),
		carries(moves(at(made("zcrx", "tcp", 0, .6), 20), 1), 1.2)}},
	{"memory at full speed is no equal work", 8, []plantest.Cell{moves(made("tcp", "tcp", 20, 1), 3.1),
		moves(made("zcrx", "tcp", 40, 1), 1)}},
	{"one mode", 8, []plantest.Cell{made("tcp", "tcp", 20, 1)}},
	{"nothing", 2, []plantest.Cell{{Cell: plantest.Modes("tcp", "tcp"), Verdict: results.Invalid,
		Reason: "byte counts differ"}}},
	{"only a control beside it", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), made("tcp-trunc", "tcp", 40, 1)}},
	{"many", 10, []plantest.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 21, 1), made("zcrx", "tcp", 40, 1),
		made("devmem", "tcp", 30, 1), made("tcp-mmap", "tcp", 19, 1), made("zcrx-nodev", "tcp", 10, 1),
		made("tcp", "sendfile", 24, 1), made("tcp", "uring", 22, 1)}},
}

// What each kind of results says, to the letter.
func TestBriefs(t *testing.T) {
	var all bytes.Buffer
	for _, x := range briefs {
		s := report.Summarize(plantest.Journal(7, x.reps, x.cells...))
		fmt.Fprintf(&all, "== %s\n", x.name)
		if err := answer.WriteBrief(&all, s.Brief); err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Answers {
			fmt.Fprintf(&all, "-> %s %s %s %s %q\n", f.Figure, strings.Join(f.Cells, " : "), f.Verdict, ends(f),
				f.Level)
		}
		all.WriteString("\n")
		short(t, x.name, s)
	}
	const path = "testdata/briefs.golden"
	if *update {
		if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(all.String(), "\n")); d != "" {
		t.Errorf("-record +now:\n%s", d)
	}
}

func ends(f answer.Finding) string {
	text := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *v)
	}
	return text(f.Ratio) + " [" + text(f.Low) + ".." + text(f.High) + "]"
}

var verdicts = []answer.FindingVerdict{"faster", "slower", "cheaper", "costlier", "equal", "open"}

// short holds what every short answer keeps to.
func short(t *testing.T, name string, s *report.Summary) {
	t.Helper()
	if s.Brief == nil {
		return
	}
	if n := len(s.Brief.Sentences()); n > 5 || n == 0 && len(s.Cells) > 0 {
		t.Errorf("%s: %d sentences", name, n)
	}
	if n := len(s.Brief.Doubts); n > 2 {
		t.Errorf("%s: %d lines of doubts", name, n)
	}
	var b bytes.Buffer
	if err := answer.WriteBrief(&b, s.Brief); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
			t.Errorf("%s: wider than 100 columns: %s", name, line)
		}
		for _, bad := range []string{"NaN", "Inf", "%!", "()", " ;", "  ("} {
			if strings.Contains(line, bad) {
				t.Errorf("%s: %q in %q", name, bad, line)
			}
		}
	}
	seen := map[string]bool{}
	last := ""
	for _, f := range s.Answers {
		if f.Sentence == "" || !slices.Contains(verdicts, f.Verdict) || len(f.Cells) == 0 {
			t.Errorf("%s: %+v", name, f)
		}
		if f.Sentence != last && seen[f.Sentence] {
			t.Errorf("%s: twice: %s", name, f.Sentence)
		}
		last, seen[f.Sentence] = f.Sentence, true
		if f.Low != nil && f.High != nil && (f.Ratio == nil || *f.Low > *f.Ratio || *f.High < *f.Ratio) {
			t.Errorf("%s: %s is outside of its interval: %s", name, ends(f), f.Sentence)
		}
	}
}

// The first sentence is the answer: what it costs at one rate, before how fast, and receivers
// before senders.
func TestAnswerFirst(t *testing.T) {
	for _, x := range briefs[:2] {
		s := report.Summarize(plantest.Journal(7, x.reps, x.cells...))
		first := s.Brief.Sentences()[0]
		if !strings.HasPrefix(first,
			map[int]string{0: "uring takes 20 % less CPU time than tcp to receive the same 20 Gbit/s (",
				1: "At full speed uring is 1.1"}[slices.IndexFunc(briefs, func(y struct {
				name  string
				reps  int
				cells []plantest.Cell
			}) bool {
				return y.name == x.name
			})]) {
			t.Errorf("%s: %s", x.name, first)
		}
	}
}

// Whatever was measured, no more than five sentences and two lines of doubts are said, and what was
// not measured is not 0.
func TestBriefsAreBrief(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 53))
		var cells []plantest.Cell
		for _, rx := range []string{"tcp", "uring", "zcrx", "devmem", "tcp-mmap", "tcp-trunc"}[:2+rng.IntN(5)] {
			for _, tx := range []string{"tcp", "sendfile", "uring"}[:1+rng.IntN(3)] {
				c := made(rx, tx, 20+10*rng.Float64(), .8+.4*rng.Float64())
				c.CV = .1 * rng.Float64()
				c.Limit = []plan.LimitedBy{"", plan.BySender, plan.ByReceiver, plan.ByOneCPU, plan.ByPath}[rng.IntN(5)]
				switch rng.IntN(8) {
				case 0:
					c.Gbps, c.Reason = 0, strings.Repeat("a long reason ", 20)
				case 1:
					c.Cores, c.TGCores = 0, 0
				case 2:
					c.ID = strings.Repeat("long", 20) + rx + tx
				case 3:
					c.Most = 1 + rng.IntN(5)
				}
				cells = append(cells, c)
				if p := at(c, 10); c.Gbps > 0 && rng.IntN(2) == 0 {
					cells = append(cells, p)
				}
			}
		}
		s := report.Summarize(plantest.Journal(seed, 2+rng.IntN(14), cells...))
		short(t, fmt.Sprint(seed), s)
		for i, row := range s.Brief.Rows {
			if i < len(cells) && cells[i].Cores == 0 && row[2] != "-" {
				t.Errorf("%d: %q, and no CPU time was measured", seed, row)
			}
		}
	}
}

// Senders are answered beside receivers, also where what they send to discards the payload.
func TestSendersToAControl(t *testing.T) {
	cheap := at(made("tcp-trunc", "sendfile", 0, .5), 10)
	cheap.TGCores *= .5
	s := report.Summarize(plantest.Journal(3, 8, at(made("tcp", "tcp", 0, 1), 10), at(made("uring", "tcp", 0, .8), 10),
		at(made("tcp-trunc", "tcp", 0, .5), 10), cheap))
	wants(t, "senders", strings.Join(s.Brief.Sentences(), "\n"), "uring takes 20 % less CPU time than tcp",
		"Senders: sendfile takes 50 % less CPU time than tcp to send the same 10 Gbit/s")
}

// What a pace is missed by, and what is no missed pace.
func TestPacesMissed(t *testing.T) {
	held := func(rx string, pace, gbps, cores float64) plantest.Cell {
		c := at(made(rx, "tcp", 0, cores), pace)
		c.Gbps = gbps
		return c
	}
	for _, x := range []struct {
		name, want string
		cells      []plantest.Cell
	}{
		{"too fast by 1.5 %", "uring takes 21 % less CPU time than tcp", []plantest.Cell{held("tcp", 20, 20, 1),
			held("uring", 20, 20.3, .8)}},
		{"both too slow, alike", "uring takes 20 % less CPU time than tcp to receive the same 17 Gbit/s",
			[]plantest.Cell{held("tcp", 20, 17, 1), held("uring", 20, 17, .8)}},
		{"one too slow", "tcp does not hold 20 Gbit/s (0 of 8 runs), uring does",
			[]plantest.Cell{held("tcp", 20, 17, 1), held("uring", 20, 20, .8)}},
	} {
		s := report.Summarize(plantest.Journal(5, 8, x.cells...))
		wants(t, x.name, strings.Join(s.Brief.Sentences(), " "), x.want)
	}
}

// Shares of two calibrations are two paces: neither is said to hold the other's.
func TestPacesOfTwoCalibrations(t *testing.T) {
	for _, other := range []float64{9.3, 10.1} {
		sets := [2]compare.Set{}
		for i, pace := range []float64{9.3, other} {
			c := at(made("tcp", "tcp", 0, 1), pace)
			if c.PacePercent, c.ID = 50, "tcp/tcp 50%"; i == 1 {
				c.Gbps = 9
			}
			sets[i] = compare.NewSet([]string{"before", "after"}[i], plantest.Journal(uint64(i), 8, c))
		}
		m, _ := compare.Lookup(compare.DefaultMetrics)
		r, err := compare.Compare(&sets[0], &sets[1], m)
		if err != nil {
			t.Fatal(err)
		}
		_, b := answer.OfComparison(r, nil)
		text := strings.Join(b.Sentences(), " ")
		if strings.Contains(text, "after does not hold 9.3 Gbit/s (0 of 8 runs), before does") != (other == 9.3) ||
			other != 9.3 && strings.Contains(text, "hold") {
			t.Errorf("%g: %s", other, text)
		}
	}
}

// A limit is named of those that it held up, and those that nothing held up are told apart.
func TestHeldUpOrNot(t *testing.T) {
	text := func(cells ...plantest.Cell) string {
		return strings.Join(report.Summarize(plantest.Journal(7, 8, cells...)).Brief.Sentences(), " ")
	}
	slow := by(made("tcp", "tcp", 20, 1), plan.ByReceiver)
	mixed := text(slow, by(made("uring", "tcp", 34, 1), plan.ByReceiver),
		by(made("tcp", "sendfile", 20, 1), plan.ByReceiver), by(made("uring", "sendfile", 30, 1), plan.BySender))
	wants(t, "one of two", mixed, "uring is at least 1.4",
		"as fast as tcp from sendfile: the sender was the limit of uring")
	if strings.Contains(mixed, ": was") || strings.Contains(mixed, ":  was") {
		t.Error(mixed)
	}
	sender := text(by(made("tcp-trunc", "tcp", 30, 1), plan.BySender),
		by(made("tcp-trunc", "sendfile", 30.1, 1), plan.ByReceiver))
	wants(t, "senders", sender, "sendfile can do at least", "the receiver was its limit")
}

// The table says of what a ratio is, and to which cell.
func TestRatios(t *testing.T) {
	a, b := at(made("tcp", "tcp", 0, 1), 20), at(made("uring", "tcp", 0, .8), 20)
	a.Cores, b.Cores, a.TGCores, b.TGCores, a.Watts, b.Watts = 0, 0, 0, 0, 100, 80
	for want, cells := range map[string][]plantest.Cell{
		"energy 0.80 [0.80..0.81] of tcp": {a, b},
		"of tcp equal": {at(made("tcp-trunc", "tcp", 0, 1), 20),
			at(made("tcp-trunc", "sendfile", 0, 1), 20)},
	} {
		s := report.Summarize(plantest.Journal(7, 8, cells...))
		wants(t, want, strings.Join(s.Brief.Rows[1], " "), want)
	}
}

// Who names a margin is answered by that alone, and the answer names it.
func TestAskedMargin(t *testing.T) {
	for margin, want := range map[float64]answer.FindingVerdict{0: "equal", .05: "equal", .001: "open"} {
		set := compare.NewSet("x", plantest.Journal(7, 16, made("tcp", "tcp", 30, 1), made("uring", "tcp", 30, 1)))
		m, _ := compare.Lookup(compare.DefaultMetrics)
		r, err := compare.Within(&set, set.Cells[0].Cell, m)
		if err != nil {
			t.Fatal(err)
		}
		if margin > 0 {
			r.Within(margin)
		}
		_, b := answer.OfComparison(r, nil)
		for _, f := range b.Findings {
			if f.Verdict != want || (f.Margin != nil) != (want == "equal") || f.Margin != nil && *f.Margin != .05 {
				t.Errorf("%g: %+v", margin, f)
			}
		}
	}
}

// Two folders are told apart by their names.
func TestBriefOfTwo(t *testing.T) {
	sets := [2]compare.Set{}
	for i, gbps := range []float64{20, 30} {
		j := plantest.Journal(uint64(i), 8, made("tcp", "tcp", gbps, 1))
		for k := range j.Records {
			j.Records[k].SUT.Env.BootID, j.Records[k].TG.Env.BootID = fmt.Sprint(i, k), fmt.Sprint(i, k)
		}
		sets[i] = compare.NewSet([]string{"before", "after"}[i], j)
	}
	m, _ := compare.Lookup(compare.DefaultMetrics)
	r, err := compare.Compare(&sets[0], &sets[1], m)
	if err != nil {
		t.Fatal(err)
	}
	_, b := answer.OfComparison(r, nil)
	wants(t, "two", b.Sentences()[0], "At full speed after is 1.", "times as fast as before [")
	if len(b.Rows) != 2 || b.Rows[0][0] != "A: tcp/tcp" || b.Rows[1][5] != "faster" {
		t.Errorf("%q", b.Rows)
	}
}

// Who reads all sentences is told of memory, too, where it was measured.
func TestMemoryIsTold(t *testing.T) {
	a := of(10, moves(at(made("tcp", "tcp", 0, 1), 20), 3.1), moves(at(made("zcrx", "tcp", 0, .6), 20), 1))
	s := sentence(t, a, answer.Better, "dram_bytes_per_byte")
	wants(t, "memory", s.Text, "Bytes of DRAM per byte of payload, receiver's machine, cheaper: zcrx/tcp pace=20G, "+
		"0.32 times tcp/tcp pace=20G [0.32..0.3")
}
