// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

func TestRemaining(t *testing.T) {
	a, b := cell("tcp", "tcp"), cell("uring", "tcp")
	plan := matrix.Interleave([]plan.Cell{a, b}, 3, true, 1)
	rec := func(p matrix.Run, v results.Verdict) results.Record {
		return results.Record{Cell: p.Cell, Rep: p.Rep, Block: p.Block, Warmup: p.Warmup, Verdict: v}
	}
	var have []results.Record
	for _, p := range plan {
		switch {
		case p.Warmup:
			have = append(have, rec(p, results.OK))
		case p.Cell.ID == a.ID: // complete; invalid and unsupported runs were made too
			have = append(have, rec(p, []results.Verdict{results.OK, results.Invalid, results.Unsupported}[p.Rep]))
		case p.Rep == 0:
			have = append(have, rec(p, results.OK))
		case p.Rep == 1:
			have = append(have, rec(p, results.Failed))
		}
	}
	left, spared := remaining(plan, have, nil, 2, false)
	if spared != 0 || len(left) != 3 || !left[0].Warmup || left[1].Rep != 1 || left[2].Rep != 2 {
		t.Fatalf("%+v", left)
	}
	for _, p := range left {
		if p.Cell.ID != b.ID {
			t.Errorf("%s is complete", p.Cell.ID)
		}
	}
	if got, _ := remaining(plan, nil, nil, 2, false); len(got) != len(plan) {
		t.Errorf("%d of %d runs of an empty journal", len(got), len(plan))
	}
}

// A run that was spoilt is made again until it has been replaced twice, also where the session
// ended in between; what was made further stays.
func TestRemainingSpoilt(t *testing.T) {
	c := cell("tcp", "tcp")
	planned := matrix.Interleave([]plan.Cell{c}, 2, false, 1)
	spoilt := results.Record{Cell: c, Verdict: results.Invalid, Gate: plan.ByEnvironment}
	proof := spoilt
	proof.Gate = plan.ByProof
	for i, x := range []struct {
		have []results.Record
		left int
	}{{[]results.Record{spoilt}, 2}, {[]results.Record{spoilt, spoilt}, 2}, {[]results.Record{spoilt, spoilt, spoilt},
		1}, {[]results.Record{proof}, 1},
		{[]results.Record{spoilt, {Cell: c, Verdict: results.OK}}, 1}} {
		if left, _ := remaining(planned, x.have, nil, 2, false); len(left) != x.left {
			t.Errorf("%d: %d runs left, want %d", i, len(left), x.left)
		}
	}
	s := Session{Again: &again{}}
	if s.know([]results.Record{spoilt, spoilt}); s.Again.wants(&spoilt, s.Gates.Replacements()) {
		t.Error("replaced three times")
	}
}

// A block of which something else spoilt a run is made again whole, also where the session ended in
// between, until it has been replaced twice. A try that the session's end cut short goes on.
func TestRemainingBlocks(t *testing.T) {
	cells := []plan.Cell{cell("tcp", "tcp"), cell("uring", "tcp"), cell("tcp", "sendfile")}
	planned := matrix.Interleave(cells, 2, false, 1)
	for tries, want := range map[string]string{
		"":            "0.1 0.1 0.1 1.1 1.1 1.1",
		"ooo":         "1.1 1.1 1.1",
		"oo":          "0.1 1.1 1.1 1.1",
		"x":           "0.2 0.2 0.2 1.1 1.1 1.1",
		"oxo":         "0.2 0.2 0.2 1.1 1.1 1.1",
		"oxo o":       "0.2 0.2 1.1 1.1 1.1",
		"oxo xoo":     "0.3 0.3 0.3 1.1 1.1 1.1",
		"oxo xoo oox": "1.1 1.1 1.1",
		"oxo xoo x":   "0.3 0.3 1.1 1.1 1.1",
		"oxo oxo oxo": "1.1 1.1 1.1",
	} {
		var have []results.Record
		for i, try := range strings.Fields(tries) {
			for k, verdict := range try {
				r := results.Record{Cell: planned[k].Cell, Try: i + 1, Verdict: results.OK}
				if verdict == 'x' {
					r.Fail(plan.ByEnvironment, "foreign load", "")
				}
				have = append(have, r)
			}
		}
		s := Session{Again: &again{Plan: planned}}
		s.know(have)
		left, _ := remaining(planned, have, nil, 2, false)
		var got []string
		for len(left) > 0 {
			block := s.Again.block(left)
			left = left[len(block):]
			if _, err := s.Again.play(block, 2, nil, func(ps []matrix.Run) ([]results.Record, bool, error) {
				got = append(got, fmt.Sprint(ps[0].Rep, ".", ps[0].Try))
				return []results.Record{{Cell: ps[0].Cell, Rep: ps[0].Rep, Try: ps[0].Try, Verdict: results.OK}}, false,
					nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", tries, got, want)
		}
	}
}

// Of a journal in which runs were made again alone, those that count stay, and are not made again
// with their blocks.
func TestRemainingOfBefore(t *testing.T) {
	cells := []plan.Cell{cell("tcp", "tcp"), cell("uring", "tcp"), cell("tcp", "sendfile")}
	planned := matrix.Interleave(cells, 1, false, 1)
	have := []results.Record{{Cell: planned[0].Cell, Verdict: results.OK},
		{Cell: planned[1].Cell, Verdict: results.Invalid, Gate: plan.ByEnvironment}}
	s := Session{Again: &again{Plan: planned}}
	s.know(have)
	left, _ := remaining(planned, have, nil, 2, false)
	var got []string
	if _, err := s.Again.play(s.Again.block(left), 2, func(matrix.Run) {},
		func(ps []matrix.Run) ([]results.Record, bool, error) {
			got = append(got, fmt.Sprint(ps[0].Cell.ID, ".", ps[0].Try))
			r := results.Record{Cell: ps[0].Cell, Rep: ps[0].Rep, Try: ps[0].Try, Verdict: results.OK}
			if len(got) == 1 {
				r.Fail(plan.ByEnvironment, "foreign load", "")
			}
			return []results.Record{r}, false, nil
		}); err != nil {
		t.Fatal(err)
	}
	one, two := planned[1].Cell.ID, planned[2].Cell.ID
	if want := []string{one + ".1", two + ".1", one + ".2", two + ".2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A cell that could not run and now can has all its runs made, also the one that
// says it cannot.
func TestRemainingUnsupported(t *testing.T) {
	c := cell("zcrx", "tcp")
	planned := matrix.Interleave([]plan.Cell{c}, 3, true, 1)
	unsupported := []results.Record{{Cell: c, Verdict: results.Unsupported}}
	if left, _ := remaining(planned, unsupported, nil, 2, false); len(left) != 4 {
		t.Errorf("%d runs left, want 3 and a warm-up", len(left))
	}
	still := planOnce(planned, func(plan.Cell) *Missing { return &Missing{} })
	if left, _ := remaining(still, unsupported, nil, 2, false); len(left) != 0 {
		t.Errorf("a cell that still cannot run is recorded again: %+v", left)
	}
	all := append(unsupported, results.Record{Cell: c, Rep: 1, Verdict: results.Unsupported},
		results.Record{Cell: c, Rep: 2, Verdict: results.Unsupported})
	if left, _ := remaining(planned, all, nil, 2, false); len(left) != 0 {
		t.Errorf("a cell that was refused as often as planned is tried again: %+v", left)
	}
}

// Cells that adaptive mode had ended stay ended: neither their warm-ups nor their
// failed runs are made again.
func TestRemainingAdaptive(t *testing.T) {
	steady, failed, noisy, begun := cell("tcp", "tcp"), cell("tcp", "sendfile"), cell("uring", "tcp"),
		cell("uring", "sendfile")
	plan := matrix.Interleave([]plan.Cell{steady, failed, noisy, begun}, 10, true, 1)
	// begun: 6 are enough, but an odd number is made
	made := map[string]int{steady.ID: 6, failed.ID: 8, noisy.ID: 8, begun.ID: 7}
	var have []results.Record
	for _, p := range plan {
		r := results.Record{Cell: p.Cell, Rep: p.Rep, Warmup: p.Warmup, Verdict: results.OK}
		gbps := 100 + float64(p.Rep)/10
		switch {
		case p.Rep >= made[p.Cell.ID]:
			continue
		case p.Cell.ID == noisy.ID:
			gbps = 100 + 10*float64(p.Rep%4)
		case p.Cell.ID == failed.ID && p.Rep == 3:
			r.Verdict = results.Failed
		}
		r.SUT.ThroughputGbps = &gbps
		have = append(have, r)
	}
	left, spared := remaining(plan, have, newAdaptive(matrix.Adaptive{Min: 6, Interval: .01}), 2, false)
	n := map[string]int{}
	for _, p := range left {
		n[p.Cell.ID]++
	}
	// With a warm-up each.
	if d := cmp.Diff(map[string]int{noisy.ID: 3, begun.ID: 4}, n); d != "" {
		t.Error(d)
	}
	if spared != 4+3 { // of steady 6 to 9; of failed 3, 8 and 9
		t.Errorf("%d spared", spared)
	}
	if left, spared := remaining(plan, have, nil, 2, false); len(left) != 5+4+3+4 || spared != 0 {
		t.Errorf("not adaptive: %d left, %d spared", len(left), spared)
	}
}

func TestChanges(t *testing.T) {
	base := plan.Origin{Hash: "h", Binary: "b", SUT: measure.Env{Hostname: "a", Kernel: "6.18", BootID: "1",
		Dev: "eth0", Driver: "mlx5_core", Firmware: "28.1"},
		Power: &plan.PowerPlan{Sources: []string{"rapl"}, IntervalS: .1, IdleS: 10, GuardS: 10}}
	power := func(change func(*plan.PowerPlan)) func(*plan.Origin) {
		return func(p *plan.Origin) {
			w := *p.Power
			p.Power = &w
			change(&w)
		}
	}
	for _, x := range []struct {
		want   string
		change func(*plan.Origin)
	}{
		{"", func(*plan.Origin) {}},
		{"", func(p *plan.Origin) { p.SUT.BootID = "2" }},
		{"the plan has changed", func(p *plan.Origin) { p.Hash = "x" }},
		{"zcbench has changed", func(p *plan.Origin) { p.Binary = "x" }},
		{`SUT: the kernel was "6.18", now "6.19"`, func(p *plan.Origin) { p.SUT.Kernel = "6.19" }},
		{`TG: the hostname was "", now "c"`, func(p *plan.Origin) { p.TG.Hostname = "c" }},
		{`SUT: the interface was "eth0", now "eth1"`, func(p *plan.Origin) { p.SUT.Dev = "eth1" }},
		{`SUT: the interface's driver was "mlx5_core", now ""`, func(p *plan.Origin) { p.SUT.Driver = "" }},
		{`SUT: the interface's firmware was "28.1", now "28.2"`, func(p *plan.Origin) { p.SUT.Firmware = "28.2" }},
		{"", func(p *plan.Origin) { p.TG.Dev = "eth0" }}, // the journal does not name it
		{"power: was rapl, every 0.1 s, idle 10 s, guard 10 s; now not measured",
			power(func(p *plan.PowerPlan) { *p = plan.PowerPlan{} })},
		{"guard 10 s; now rapl, every 0.1 s, idle 10 s, guard 1 s", power(func(p *plan.PowerPlan) { p.GuardS = 1 })},
		{"now rapl, every 0.1 s, idle 0 s", power(func(p *plan.PowerPlan) { p.IdleS = 0 })},
		{"now rapl, every 1 s", power(func(p *plan.PowerPlan) { p.IntervalS = 1 })},
		{"now hwmon, rapl, ", power(func(p *plan.PowerPlan) { p.Sources = []string{"hwmon", "rapl"} })},
	} {
		now := base
		x.change(&now)
		if got := strings.Join(changes(headerOf(&base), &now), "; "); (got == "") != (x.want == "") ||
			!strings.Contains(got, x.want) {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
	old := base // a journal from before power was in the header
	old.Power = nil
	if got := changes(headerOf(&old), &base); len(got) != 1 ||
		!strings.Contains(got[0], "does not say how power was measured") {
		t.Errorf("a journal that does not know of power: %q", got)
	}
	earlier, other := results.Header{Schema: 2, Plan: &plan.Origin{Hash: "made otherwise", File: base.File,
		Binary: base.Binary, Power: base.Power}}, base
	if got := changes(earlier, &base); strings.Contains(strings.Join(got, "; "), "the plan has changed") {
		t.Errorf("an older journal of the same file: %v", got)
	}
	if other.File += "x"; !strings.Contains(strings.Join(changes(earlier, &other), "; "), "the plan has changed") {
		t.Error("an older journal of another file passes")
	}
	if len(changes(headerOf(nil), &base)) != 1 {
		t.Error("a journal without a plan can be resumed")
	}
}

func TestAdaptive(t *testing.T) {
	c := cell("tcp", "tcp")
	a := newAdaptive(matrix.Adaptive{Min: 2, Interval: .01})
	run := func(rep int, warmup bool) matrix.Run { return matrix.Run{Cell: c, Rep: rep, Warmup: warmup} }
	add := func(gbps float64, v results.Verdict, warmup bool) {
		a.Add(results.Record{Cell: c, Verdict: v, Warmup: warmup, SUT: results.Host{ThroughputGbps: &gbps}})
	}
	for i := range 6 {
		if a.done(run(i, false)) {
			t.Fatalf("done after %d runs", i)
		}
		add(100, results.Invalid, false)
		add(500, results.OK, true)
		add(100+float64(i)/10, results.OK, false)
	}
	if a.done(run(6, true)) {
		t.Error("a warm-up left out")
	}
	if !a.done(run(6, false)) || !a.done(run(7, false)) {
		t.Error("6 runs within 0.5 % are not enough")
	}
	wide := newAdaptive(matrix.Adaptive{Min: 6, Interval: .001})
	for i := range 8 {
		g := 100 + float64(i)
		wide.Add(results.Record{Cell: c, Verdict: results.OK, SUT: results.Host{ThroughputGbps: &g}})
	}
	if wide.done(run(8, false)) {
		t.Error("a wide interval is enough")
	}
	// Only after forward and backward blocks in equal number.
	odd := newAdaptive(matrix.Adaptive{Min: 6, Interval: 1})
	for i := range 7 {
		g := 100 + float64(i)
		odd.Add(results.Record{Cell: c, Verdict: results.OK, SUT: results.Host{ThroughputGbps: &g}})
	}
	if odd.done(run(7, false)) || !odd.done(run(8, false)) {
		t.Error("a cell ends after an odd number of blocks, or not at all")
	}
	if (*adaptive)(nil).done(run(0, false)) {
		t.Error("nothing is done")
	}
}

// What a results folder says of power is compared and not opened: a command that
// stands there is not run, not even when the folder is resumed all the same.
func TestIntegrationResumeRunsNoCommandOfTheFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem]", "rx: tcp", 1)+"warmup: false\n")
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	path, ran := filepath.Join(e.Dir, results.JournalFile), filepath.Join(t.TempDir(), "ran")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfterN(string(text), "\n", 2)
	var head results.Header
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil {
		t.Fatal(err)
	}
	head.Plan.Power = &plan.PowerPlan{Sources: []string{"command=touch " + ran}, IntervalS: 1}
	head.Plan.File = "name: x\nsut: {settings: {sysctl: {kernel.core_pattern: '|/x'}}}\n"
	first, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(append(first, '\n'), lines[1]...), 0o644); err != nil {
		t.Fatal(err)
	}
	e.Begin = Resume
	if _, err := e.Run(t.Context()); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "command=touch") {
		t.Errorf("%v", err)
	}
	e.Begin = ResumeChanged
	if _, err := e.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := Derive(e.Dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the folder's command was run")
	}
}

// What stands in the place of the report is told once.
func TestReportIsAFolder(t *testing.T) {
	dir := t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.Mkdir(filepath.Join(dir, results.ReportFile), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Report(t.Context(), dir)
	if err == nil || strings.Count(err.Error(), "is a folder") != 1 || fault.Fix(err) == "" {
		t.Errorf("%v", err)
	}
}

// The report's files are written into the folder, wherever links in it lead.
func TestReportFollowsNoLink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	victim := filepath.Join(other, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{results.RunsFile, results.MetricsFile, results.SamplesFile, results.FlowsFile,
		results.ReportFile} {
		if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Derive(dir); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, results.PlotsDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, results.PlotsDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Report(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("%v", err)
	}
	if files, err := os.ReadDir(other); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// headerOf is the header of a journal of this schema.
func headerOf(p *plan.Origin) results.Header {
	return results.Header{Schema: results.SchemaVersion, Plan: p}
}

// Runs that take turns are made together or not at all: a block of which a start was made in part
// is made again as another try, and what was made of it then counts no more. A cell that could not
// run is not let take turns with nobody.
func TestRemainingStarts(t *testing.T) {
	var planned []matrix.Run
	cells := []plan.Cell{cell("tcp", "tcp"), cell("uring", "tcp"), cell("tcp", "sendfile")}
	for rep := range 2 {
		for i, c := range cells {
			planned = append(planned, matrix.Run{Cell: c, Group: 1 + i/2, Block: rep, Rep: rep})
		}
	}
	for tries, want := range map[string]string{
		"":            "0.1 0.1 0.1 1.1 1.1 1.1",
		"ooo":         "1.1 1.1 1.1",
		"oo":          "0.1 1.1 1.1 1.1", // the other start
		"o":           "0.2 0.2 0.2 1.1 1.1 1.1",
		"ofo":         "0.2 0.2 0.2 1.1 1.1 1.1",
		"ffo":         "0.1 0.1 1.1 1.1 1.1", // all of a start
		"ouo":         "1.1 1.1 1.1",
		"ofo o":       "0.3 0.3 0.3 1.1 1.1 1.1",
		"ofo ofo ofo": "1.1 1.1 1.1",
	} {
		var have []results.Record
		for i, try := range strings.Fields(tries) {
			for k, verdict := range try {
				have = append(have, results.Record{Cell: planned[k].Cell, Try: i + 1, Verdict: map[rune]results.Verdict{
					'o': results.OK, 'f': results.Failed, 'u': results.Unsupported}[verdict]})
			}
		}
		s := Session{Again: &again{Plan: planned}}
		s.know(have)
		for _, rep := range splitStarts(planned, have, nil, 2, false) {
			s.Again.renew(rep)
		}
		left, _ := remaining(planned, have, nil, 2, false)
		var got []string
		for len(left) > 0 {
			block := s.Again.block(left)
			left = left[len(block):]
			if _, err := s.Again.play(block, 2, nil, func(ps []matrix.Run) (made []results.Record, _ bool, _ error) {
				for _, p := range ps {
					got = append(got, fmt.Sprint(p.Rep, ".", p.Try))
					made = append(made, results.Record{Cell: p.Cell, Rep: p.Rep, Try: p.Try, Verdict: results.OK})
				}
				have = append(have, made...)
				return made, false, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%q: %q, want %q", tries, all, want)
		}
		judge.Settle(have)
		counted := map[slot]int{}
		for _, r := range have {
			if at := (slot{r.Cell.Key(), r.Rep}); r.Verdict == results.OK {
				counted[at]++
				if counted[at] > 1 {
					t.Errorf("%q: %s, repetition %d counts twice", tries, r.Cell.ID, r.Rep)
				}
			}
		}
	}
}

// Where agents start anew for each block, one that a session's end, or a run that failed, left in
// part is made again whole: else none of its starts had a run of both cells. Not for a cell that
// never ran, nor for one that is known well enough.
func TestRemainingStartsAnew(t *testing.T) {
	cells := []plan.Cell{cell("tcp", "tcp"), cell("uring", "tcp")}
	planned := matrix.Interleave(cells, 8, false, 1)
	for have, want := range map[string]string{
		"":                        "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7",
		"oo oo o":                 "2 2 3 3 4 4 5 5 6 6 7 7",
		"oo of oo oo oo oo oo oo": "1 1",
		"oo ff oo oo oo oo oo oo": "1 1",
		"oo oo oo oo oo oo oo oo": "",
		"of of of of of of of of": "0 1 2 3 4 5 6 7",
		"ou o":                    "0 1 2 2 3 3 4 4 5 5 6 6 7 7",
	} {
		var recs []results.Record
		for rep, block := range strings.Fields(have) {
			for k, verdict := range block {
				recs = append(recs, results.Record{Cell: cells[k], Rep: rep, Try: 1, Verdict: map[rune]results.Verdict{
					'o': results.OK, 'f': results.Failed, 'u': results.Unsupported}[verdict]})
			}
		}
		left, _ := remaining(planned, recs, nil, 2, true)
		var got []string
		for _, p := range left {
			got = append(got, fmt.Sprint(p.Rep))
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%q: %q, want %q", have, all, want)
		}
	}
	// the first is known after six, and the second goes on alone
	gbps := 100.0
	var recs []results.Record
	for rep := range 8 {
		for i, c := range cells {
			r := results.Record{Cell: c, Rep: rep, Try: 1, Verdict: results.OK}
			r.SUT.ThroughputGbps = &gbps
			if i == 1 {
				r.SUT.ThroughputGbps = new(100 + 10*float64(rep%4))
			}
			if i == 1 || rep < 6 {
				recs = append(recs, r)
			}
		}
	}
	enough := newAdaptive(matrix.Adaptive{Min: 6, Interval: .01})
	if left, spared := remaining(planned, recs, enough, 2, true); len(left) != 0 || spared != 2 {
		t.Errorf("%d runs left, %d spared", len(left), spared)
	}
}
