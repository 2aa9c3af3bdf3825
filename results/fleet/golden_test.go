// SPDX-License-Identifier: MIT

package fleet

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/csp/csptest"
	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sampleFleet is a fleet with all that can become of a pair, in the folder out below a folder
// of the
// test's own. One journal is being written until the test ends.
func sampleFleet(t *testing.T) *Fleet {
	t.Helper()
	t.Chdir(t.TempDir())
	madeFolders{pairs: 12, cells: 2, reps: 6, facts: 3, stop: map[int]int{7: 4, 8: 11, 9: 0},
		slow: func(pair, cell int) float64 { return map[int]float64{3: .08}[pair] },
		fail: func(pair int) string {
			return map[int]string{5: "connect to r5: no route to host (EHOSTUNREACH)"}[pair]
		}}.write(t, "out")
	torn, err := os.OpenFile("out/pair0008/journal.jsonl", os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = torn.WriteString(`{"schema":3,"run_id":"s8-000`)
		torn.Close()
	}
	if err == nil {
		err = os.MkdirAll("out/pair0012", 0o755)
	}
	if err == nil {
		err = os.MkdirAll("out/pair0013", 0o755)
	}
	if err == nil {
		err = os.WriteFile("out/pair0013/journal.jsonl", []byte("<html>\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	live, _, _, err := results.Resume("out/pair0010")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { live.Close() })
	dirs, err := Find([]string{"out", "out/pair0003", "out/../out/pair0004"})
	if err != nil || len(dirs) != 14 {
		t.Fatal(dirs, err)
	}
	return Read(dirs, throughput(t), noGates)
}

// noGates leaves the journals' runs as they are.
func noGates(*results.Journal) {}

var number = regexp.MustCompile(`-?\d+\.\d{6,}(e[-+]\d+)?|-?\d+(\.\d+)?e[-+]\d+`)

// golden compares with what is on record, of numbers their first digits: the rest is the machine's.
func golden(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	got := number.ReplaceAllStringFunc(b.String(), func(s string) string {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatFloat(v, 'g', 5, 64)
	})
	path := filepath.Join(started, "testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-record +now; -update rewrites it):\n%s", name, d)
	}
	return got
}

// started is the folder that the tests began in.
var started, _ = os.Getwd()

func TestGolden(t *testing.T) {
	f := sampleFleet(t)
	golden(t, "fleet.txt.golden", func(w io.Writer) error { return f.Table(w, false) })
	golden(t, "fleet.json.golden", f.JSON)
	golden(t, "fleet.csv.golden", f.CSV)
	html := golden(t, "fleet.html.golden", f.HTML)
	var page bytes.Buffer
	if err := f.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range csptest.Check(page.String()) {
		t.Error(wrong)
	}
	for _, bad := range []string{"http://", "https://", "src=", "@import", "url("} {
		if strings.Contains(html, bad) {
			t.Errorf("the page needs more than itself: %s", bad)
		}
	}
}

// Each journal is shown as what it is.
func TestStates(t *testing.T) {
	f := sampleFleet(t)
	for i, want := range map[int]state{0: complete, 3: complete, 5: complete, 7: killed, 8: Torn, 9: noRuns, 10: Live,
		12: unreadable, 13: unreadable} {
		if got := f.Pairs[i].State; got != want {
			t.Errorf("%s: %s, want %s", f.Pairs[i].Dir, got, want)
		}
	}
	for i, want := range map[int]string{5: "no route to host", 9: "has no run", 12: "no journal",
		13: "not the header"} {
		if p := f.Pairs[i]; !p.Failed() || !strings.Contains(p.Problem, want) {
			t.Errorf("%s: %q, want %q", p.Dir, p.Problem, want)
		}
	}
	// Who has no runs has hosts all the same: the plan knew them.
	if p := f.Pairs[9]; p.SUT.Host != "r9" || p.TG.Host != "s9" || p.Planned != 12 {
		t.Errorf("%+v", p)
	}
	if n := f.Pairs[8].Runs.OK; n != 11 {
		t.Errorf("%d runs of a torn journal", n)
	}
	if f.Pairs[3].worst() != Worse || f.Beyond(.03) != 1 || f.Beyond(.2) != 0 {
		t.Errorf("%+v", f.Pairs[3].Overall)
	}
	if o := f.Pairs[7].Overall; o.Verdict != tooFewRuns {
		t.Errorf("two runs of each cell: %+v", o)
	}
}

// A folder of which something is refused says what to do about it.
func TestRefusedHasAFix(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, results.JournalFile)); err != nil {
		t.Fatal(err)
	}
	f := Read([]Place{{Dir: dir}}, throughput(t), noGates)
	var table bytes.Buffer
	if err := f.Table(&table, false); err != nil {
		t.Fatal(err)
	}
	if p := f.Pairs[0]; p.State != unreadable || !strings.Contains(p.Problem, "symbolic link") ||
		!strings.Contains(p.Fix, "readlink -f") {
		t.Errorf("%q, fix %q", p.Problem, p.Fix)
	}
	if !strings.Contains(table.String(), "fix: look where it leads") {
		t.Errorf("the table has no fix:\n%s", &table)
	}
}

// Folders that are no pairs are refused, in words.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{file, filepath.Join(dir, "none")} {
		if got, err := Find([]string{arg}); err == nil {
			t.Errorf("%s: %v", arg, got)
		}
	}
	if got, err := Find([]string{dir}); err != nil || len(got) != 1 || got[0] != Named(dir) {
		t.Errorf("an empty folder: %v, %v", got, err)
	}
	f := Read([]Place{Named(dir)}, throughput(t), noGates)
	if f.Readable() || !f.Pairs[0].Failed() {
		t.Errorf("%+v", f.Pairs[0])
	}
}

// A figure that cannot be makes no output fail.
func TestImpossibleFigures(t *testing.T) {
	f := &Fleet{metric: throughput(t)}
	var j results.Journal
	for _, v := range []float64{1e-300, 0, -1, 5, 1e300} {
		r := results.Record{Verdict: results.OK}
		r.Cell.ID, r.SUT.ThroughputGbps = "a", &v
		j.Records = append(j.Records, r)
	}
	p := &pair{}
	f.sumUp(p, 0, &j)
	if c := p.Figures[0]; c.N != 1 || *c.Median != 5 || c.Runs.OK != 5 {
		t.Errorf("%+v", c)
	}
}

// FuzzRead reads a journal that may be anything beside ten that are none such: nothing panics,
// and what is printed is plain text.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	madeFolders{pairs: 8, cells: 2, reps: 6}.write(f, dir)
	good, err := os.ReadFile(filepath.Join(dir, "pair0000", "journal.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	f.Add(good)
	f.Add(good[:len(good)-40])
	f.Add(append(bytes.Clone(lines[0]), lines[3]...))
	f.Add(bytes.ReplaceAll(good, []byte(`"hostname":"r0"`), []byte(`"hostname":"\u001b]0;x\u0007\n=1+1"`)))
	f.Add(bytes.ReplaceAll(good, []byte(`"repetitions":6`), []byte(`"repetitions":-9223372036854775808`)))
	f.Add(bytes.ReplaceAll(good, []byte(`"throughput_gbps":`), []byte(`"throughput_gbps":-`)))
	f.Add(bytes.ReplaceAll(good, []byte(`"throughput_gbps":`), []byte(`"throughput_gbps":1e300,"x":`)))
	strange := filepath.Join(dir, "strange")
	dirs := []Place{Named(strange)}
	for i := range 8 {
		dirs = append(dirs, Named(filepath.Join(dir, fmt.Sprintf("pair%04d", i))))
	}
	if err := os.Mkdir(strange, 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		frugal.Do(t, func() {
			if err := os.WriteFile(filepath.Join(strange, "journal.jsonl"), text, 0o644); err != nil {
				t.Fatal(err)
			}
			fleet := Read(dirs, throughput(t), noGates)
			var b bytes.Buffer
			if err := fleet.Table(&b, true); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); plaintext.Clean(got) != got {
				t.Errorf("%q", got)
			}
			for name, write := range map[string]func(io.Writer) error{"json": fleet.JSON, "csv": fleet.CSV,
				"html": fleet.HTML} {
				if err := write(io.Discard); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	})
}
