// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/why"
)

// whyFolder writes a results folder: reps blocks of tcp, which copies 60 to 64 ns per kB, and of
// tcp-trunc, which does not, and makes fewer calls. Without profiled there are no profiles.
func whyFolder(t *testing.T, dir string, reps int, profiled bool) {
	t.Helper()
	cells := []plan.Cell{{ID: "tcp/tcp", RX: "tcp", TX: "tcp", Touch: "read"}, {ID: "tcp-trunc/tcp", RX: "tcp-trunc",
		TX: "tcp", Touch: "read"}}
	w, err := results.Create(dir, results.Header{SessionID: "s", Cells: cells})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for rep := range reps {
		for k, c := range cells {
			r := results.Record{RunID: fmt.Sprintf("r-%02d-%d", rep, k), SessionID: "s", Cell: c, Rep: rep, Block: rep,
				Seq: 2*rep + k, Verdict: results.OK}
			r.SUT.Env.BootID, r.TG.Env.BootID = "sut", "tg"
			whyRun(t, &r, rep, k, profiled)
			if err := w.Attach(&r); err != nil {
				t.Fatal(err)
			}
			if err := w.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// whyRun is what a run of the folder took, by classes of one function each.
func whyRun(t *testing.T, r *results.Record, rep, k int, profiled bool) {
	t.Helper()
	const bytes = 2e9
	drift := float64(rep * 5 % 11)
	p := &profile.Profile{Event: perf.Event{Name: "cpu-clock", Nanoseconds: true}, Hz: 999, WallNs: 1e9, CPUs: []int{0}}
	figures := &results.Profiled{Event: "cpu-clock", Hz: 999, Samples: new(1000.), Lost: new(0.)}
	busy := 0.0
	for i, x := range []struct {
		class    profile.Class
		function string
		ns       float64
	}{{profile.Copy, "_copy_to_iter", (1 - float64(k)) * (60 + float64(rep*7%5))},
		{profile.TCP, "tcp_v4_rcv", 40 + drift + float64((rep+k)*3%7)}, {profile.Socket, "sock_def_readable",
			10 + drift/4 + float64((rep*2+k)%3)},
		{profile.Other, "do_something", 5 + float64((rep*k+rep)%4)}} {
		if x.ns == 0 {
			continue
		}
		busy += x.ns
		figures.Classes = append(figures.Classes, results.ProfiledPart{Name: string(x.class), SelfPerKB: new(x.ns)})
		figures.Functions = append(figures.Functions, results.ProfiledPart{Name: x.function, Where: "thread",
			Class: string(x.class), SelfPerKB: new(x.ns)})
		p.Stacks = append(p.Stacks, profile.Stack{Where: profile.Thread, Comm: "zcbench", PID: 10 + i, Count: 1,
			Weight: uint64(x.ns * 1e6), Class: x.class,
			Frames: []profile.Frame{{Name: x.function, Kernel: true}, {Name: "entry_SYSCALL_64_after_hwframe",
				Kernel: true}, {Name: "main.main"}}})
	}
	figures.Busy.SelfPerKB = new(busy)
	h := &r.SUT
	h.Bytes, h.TotalBytes, h.DurationS, h.ThroughputGbps = new(uint64(bytes)), new(uint64(bytes)), new(1.0), new(16.0)
	h.CPUBusyCores = new(busy * bytes / 1000 / 1e9)
	h.Metrics = []measure.Metric{{Name: "flow_calls", Unit: "1", Value: 2 * float64(20000-8000*k+(rep*31+k*7)%40),
		Source: "data path"}}
	if !profiled {
		return
	}
	h.Probes = &results.Probes{Profile: figures}
	var b strings.Builder
	if err := p.Pprof(busy*bytes/1000, time.Unix(1, 0)).Write(&b); err != nil {
		t.Fatal(err)
	}
	r.Attached.SUT = []byte(b.String())
}

// TestGoldenWhy keeps what is said of two cells whose difference is known, and what of those that
// cannot be compared.
func TestGoldenWhy(t *testing.T) {
	dir := t.TempDir()
	whyFolder(t, filepath.Join(dir, "w"), 10, true)
	whyFolder(t, filepath.Join(dir, "few"), 4, true)
	whyFolder(t, filepath.Join(dir, "one"), 1, true)
	whyFolder(t, filepath.Join(dir, "none"), 8, false)
	var got []byte
	for _, line := range []string{
		"zcbench compare --why w",
		"zcbench compare --why w@rx=tcp w@rx=tcp-trunc --flame why.html",
		"zcbench compare --why few",
		"zcbench compare --why one",
		"zcbench compare --why none",
		"zcbench compare --why w@rx=tcp none@rx=tcp-trunc",
		"zcbench compare w --flame why.html",
		"zcbench compare --why w --end tg",
		"zcbench compare --why w --flame why.html --end middle",
		"zcbench compare --why w --flame why.html --end tg",
	} {
		got = append(got, ran(t, dir, line)...)
	}
	golden(t, "compare_why.golden", steady(got, dir))
	for _, columns := range widths {
		noLonger(t, "compare --why", columns, ran(t, dir, "zcbench compare --why w",
			fmt.Sprintf("COLUMNS=%d", columns)))
	}
	page, err := os.ReadFile(filepath.Join(dir, "why.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tcp-trunc/tcp (B) beside tcp/tcp (A), SUT", "means of 10+10 runs",
		"_copy_to_iter: A 62.00, B 0.00, B - A -62.00 ns/kB, copy", "payload not consumed in B"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in the flame graph", want)
		}
	}
}

// whyShown is what --why --json says of the end whose cells are compared.
type whyShown struct {
	Why []struct {
		Ends []why.End `json:"ends"`
	} `json:"why"`
}

// whyOf asks why of a results folder, and returns what it says of the SUT.
func whyOf(t *testing.T, sources ...string) why.End {
	t.Helper()
	status, out, stderr := zcbench(t, append([]string{"compare", "--why", "--json"}, sources...)...)
	var shown whyShown
	if err := json.Unmarshal([]byte(out), &shown); status != 0 || err != nil || len(shown.Why) != 1 ||
		len(shown.Why[0].Ends) == 0 || shown.Why[0].Ends[0].Role != ends.SUT {
		t.Fatalf("status %d, %v: %s%s", status, err, stderr, out)
	}
	return shown.Why[0].Ends[0]
}

// The JSON has all classes, also those that do not differ, and a flame graph is no part of it. A
// folder without its profiles has no graph.
func TestWhyJSON(t *testing.T) {
	dir := t.TempDir()
	whyFolder(t, filepath.Join(dir, "w"), 10, true)
	e := whyOf(t, filepath.Join(dir, "w"))
	if len(e.Classes) != 4 || e.Classes[0].Name != "copy" || !e.Classes[0].Differs || e.Explained == nil ||
		e.Explained.Diff != e.Classes[0].Diff || len(e.Counters) != 1 || !e.Counters[0].Differs {
		t.Errorf("%+v", e)
	}
	if status, out, stderr := zcbench(t, "compare", "--why", filepath.Join(dir, "w"), "--flame",
		filepath.Join(dir, "no", "why.html")); status != 1 || !strings.Contains(out, "\n  copy ") ||
		!strings.Contains(stderr, "--flame: write ") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if err := os.RemoveAll(filepath.Join(dir, "w", results.ProfilesDir)); err != nil {
		t.Fatal(err)
	}
	flame := filepath.Join(dir, "why.html")
	if status, _, stderr := zcbench(t, "compare", "--why", filepath.Join(dir, "w"), "--flame",
		flame); status != 2 || !strings.Contains(stderr, "has none of the profiles of tcp/tcp") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if _, err := os.Stat(flame); err == nil {
		t.Error("a graph of nothing")
	}
}

// A differential graph is made of no more profiles than its bound, and says what to do about it;
// runs without a profile take their part of it, too.
func TestWhyIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "w")
	whyFolder(t, dir, 10, true)
	packed, err := os.ReadFile(filepath.Join(dir, results.ProfilesDir, "r-00-0-sut.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	lists := func(cell string) (runs []*results.Record) {
		recs := journal(t, dir).Records
		for i := range recs {
			if recs[i].Cell.RX == cell {
				runs = append(runs, &recs[i])
			}
		}
		return runs
	}
	end := &why.End{Role: ends.SUT, RunsA: lists("tcp"), RunsB: lists("tcp-trunc")}
	x := explained{&compare.Couple{DirA: dir, DirB: dir}, nil}
	for name, kept := range map[string]*bench.ProfileReader{"files": {Files: 19, Bytes: 1 << 30, Steps: 1 << 30},
		"bytes": {Files: 100, Bytes: 10 * len(packed), Steps: 1 << 30}} {
		_, _, err := addSides(t.Context(), x, end, kept)
		if s := (*cli.StatusError)(nil); !errors.Is(err, bench.ErrProfileBound) || !errors.As(err, &s) ||
			s.Status != cli.Usage || !strings.Contains(err.Error(), "--flame: profiles/r-0") ||
			!strings.Contains(err.Error(), "at most 4000 profiles") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, results.ProfilesDir, "r-03-0-sut.pb.gz")); err != nil {
		t.Fatal(err)
	}
	d, lacking, err := addSides(t.Context(), x, end, &bench.ProfileReader{Files: 20, Bytes: 1 << 30, Steps: 1 << 30})
	if err != nil || lacking != 1 {
		t.Fatalf("%d lacking, %v", lacking, err)
	}
	if a, b := d.Runs(); a != 9 || b != 10 {
		t.Errorf("%d+%d runs", a, b)
	}
	if _, _, err := addSides(t.Context(), x, end, &bench.ProfileReader{Files: 19, Bytes: 1 << 30,
		Steps: 1 << 30}); !errors.Is(err, bench.ErrProfileBound) {
		t.Errorf("19 of 20, one of which is not there: %v", err)
	}
}

// mustNameCopyFirst holds what is said of a mode that copies beside one that does not.
func mustNameCopyFirst(t *testing.T, e why.End) {
	t.Helper()
	named, vague := e.Shown()
	t.Logf("CPU %+.1f [%v..%v] ns/kB, %d+%d runs by %s", e.CPU.Diff, *e.CPU.Lo, *e.CPU.Hi, e.CPU.NA, e.CPU.NB, e.Event)
	for _, l := range append(named, vague...) {
		t.Logf("%s %+.1f [%.1f..%.1f], p %.4f", l.Name, l.Diff, *l.Lo, *l.Hi, l.Adjusted)
	}
	t.Logf("unexplained %+.1f [%.1f..%.1f]", e.Unexplained.Diff, *e.Unexplained.Lo, *e.Unexplained.Hi)
	if len(named) == 0 || named[0].Name != "copy" || named[0].Diff >= 0 {
		t.Fatalf("the copy is not named first: %+v", named)
	}
}

// unplaced is the difference that a clock gives to the ends of sections without interrupts: of
// which class that is it cannot say, so it is in what stays unexplained. Cycles are sampled there.
func unplaced(e why.End) float64 {
	for _, l := range e.Classes {
		if l.Name == string(profile.IRQOffEnd) && e.Event == "cpu-clock" {
			return l.Diff
		}
	}
	return 0
}

// Over veth, tcp beside tcp-trunc: the copy is named first, and the classes that are named explain
// the difference that the CPUs' accounting shows. What else runs on the CPUs is in that difference,
// too: runs that it spoilt do not count, and where it spoils most the test fails: it runs alone.
func TestIntegrationWhy(t *testing.T) {
	kind.Timed(t)
	long.Test(t)
	needRoot(t)
	out := filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "demo", "--out", out, "--rx", "tcp,tcp-trunc", "--tx", "tcp", "--pace", "50%",
		"--probe", "profile",
		"--repetitions", "16", "--duration", "1s")
	if status := p.Wait(5 * time.Minute); status != 0 {
		t.Fatalf("status %d\n%s%s", status, &p.Out, &p.Err)
	}
	counting := map[string]int{}
	for _, r := range journal(t, out).Records {
		if r.Verdict == results.OK && !r.Warmup {
			counting[r.Cell.RX]++
		}
	}
	if n := min(counting["tcp"], counting["tcp-trunc"]); n < 8 {
		t.Fatalf("something else on this machine spoilt all but %d of 16 runs of a cell: nothing was tested; run "+
			"it alone (mk/lane.sh quiet)", n)
	}
	e := whyOf(t, out+"@rx=tcp", out+"@rx=tcp-trunc")
	mustNameCopyFirst(t, e)
	if !e.CPU.Differs {
		t.Fatalf("the CPU time is not told apart: %+v", e.CPU)
	}
	// 80 to 120 % of it, as far as the runs can tell, of the difference too: with other work on the
	// CPUs they tell less.
	t.Logf("the named classes explain %.0f %% of the difference", 100*e.Explained.Diff/e.CPU.Diff)
	far, off := .2*max(math.Abs(*e.CPU.Lo), math.Abs(*e.CPU.Hi)), unplaced(e)
	if *e.Unexplained.Lo-off > far || *e.Unexplained.Hi-off < -far || math.Abs(off) > .5*math.Abs(e.CPU.Diff) {
		t.Errorf("the named classes leave %.1f [%.1f..%.1f] of %.1f ns/kB unexplained, of it %.1f without a place",
			e.Unexplained.Diff, *e.Unexplained.Lo, *e.Unexplained.Hi, e.CPU.Diff, off)
	}
	flame := filepath.Join(out, "why.html")
	if status, text, stderr := zcbench(t, "compare", "--why", out+"@rx=tcp", out+"@rx=tcp-trunc", "--flame",
		flame); status != 0 || !strings.Contains(text, "\n  copy") {
		t.Errorf("status %d: %s%s", status, stderr, text)
	}
	page, err := os.ReadFile(flame)
	if err != nil || !bytes.Contains(page, []byte("ns/kB, copy")) {
		t.Errorf("%d bytes of a flame graph, %v", len(page), err)
	}
}

// In the lab, tcp beside zcrx: the copy is named first.
func TestLabWhy(t *testing.T) {
	needLabHere(t)
	long.Test(t)
	out := filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "lab", "demo", "--all", "--out", out, "--", "--rx", "tcp,zcrx", "--tx", "tcp",
		"--pace", "50%",
		"--probe", "profile", "--repetitions", "8", "--duration", "400ms")
	if status := p.Wait(40 * time.Minute); status != 0 {
		t.Fatalf("status %d\n%s%s", status, &p.Out, &p.Err)
	}
	mustNameCopyFirst(t, whyOf(t, out+"@rx=tcp", out+"@rx=zcrx"))
}
