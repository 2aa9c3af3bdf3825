// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/csp/csptest"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

// profiledFolder is a results folder with runs whose SUT has a profile: of all but the third run.
// Each run's stack has the function that is called for it.
func profiledFolder(t *testing.T, cells, runs int, function func(cell, run int) string) string {
	t.Helper()
	dir := t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for c := range cells {
		for i := range runs {
			p := profile.Profile{Event: perf.Event{Name: "cpu-clock", Nanoseconds: true},
				Stacks: []profile.Stack{{Where: profile.SoftIRQ, Class: profile.TCP, Count: 1, Weight: 1000,
					Frames: []profile.Frame{{Name: function(c, i), Kernel: true}, {Name: "ip_rcv", Kernel: true}}}}}
			var b bytes.Buffer
			if err := p.Pprof(1000, time.Unix(1, 0)).Write(&b); err != nil {
				t.Fatal(err)
			}
			r := results.Record{RunID: fmt.Sprintf("s-%d-%d", c, i), SessionID: "s", Seq: c*runs + i, Rep: i,
				Cell: cell("tcp", "tcp"), Verdict: results.OK}
			r.Cell.MessageBytes = 4096 * (c + 1)
			r.Cell.ID = fmt.Sprint("cell", c)
			r.SUT.Probes = &results.Probes{Profile: &results.Profiled{Event: "cpu-clock",
				Busy:    results.ProfiledPart{SelfPerKB: new(1.0)},
				Classes: []results.ProfiledPart{{Name: "tcp", SelfPerKB: new(1.0)}}}}
			if i != 2 {
				r.Attached.SUT = b.Bytes()
			}
			if err := w.Attach(&r); err != nil {
				t.Fatal(err)
			}
			if err := w.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// folderOf is a results folder, open until the test ends.
func folderOf(t testing.TB, dir string) *results.Folder {
	t.Helper()
	f, err := results.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func reportOf(t *testing.T, dir string) string {
	t.Helper()
	if _, err := Report(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, results.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The report has a graph of each end that was profiled, of all its runs; what is not there is said;
// the only script that may run is ours, and nothing of elsewhere is loaded.
func TestReportHasFlames(t *testing.T) {
	dir := profiledFolder(t, 2, 4, func(c, i int) string { return fmt.Sprintf("f%d_%d", c, i) })
	page := reportOf(t, dir)
	for _, want := range []string{`data-n="f0_0"`, `data-n="f0_3"`, `data-n="f1_1"`, "From 3 of 4 runs.",
		"there is no profiles/s-0-2-sut.pb.gz", "<details><summary>#2 "} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(page, `class="flamegraph"`); n != 2 {
		t.Errorf("%d graphs", n)
	}
	if strings.Contains(page, `data-n="f0_2"`) || strings.Contains(page, "ZgotmplZ") {
		t.Error("a run without a profile is drawn, or something was left out as unsafe")
	}
	if n := strings.Count(page, "<script>"); n != 2 { // that of the graphs, and the page's own
		t.Errorf("%d scripts", n)
	}
	for _, wrong := range csptest.Check(page) {
		t.Error(wrong)
	}
	for _, bad := range []string{"http://", "https://", "src=", "url(", "@import", "<link"} {
		if strings.Contains(page, bad) {
			t.Errorf("has %q", bad)
		}
	}
}

// Files that came from somebody else are no profiles, or have texts that a browser would obey.
func TestFlamesOfStranger(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	dir := profiledFolder(t, 1, 4, func(_, i int) string { return map[bool]string{true: evil, false: "fine"}[i == 0] })
	if err := os.WriteFile(filepath.Join(dir, results.ProfilesDir, "s-0-1-sut.pb.gz"), []byte("no profile"),
		0o644); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, results.ProfilesDir, "s-0-3-sut.pb.gz")
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(pipe, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Report(t.Context(), dir); !errors.As(err, new(*results.Refused)) {
		t.Errorf("a folder in the place of a profile: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, results.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, "&lt;script&gt;alert") ||
		!strings.Contains(page, "From 1 of 4 runs.") {
		t.Error("a name got through unescaped, or is missing")
	}
	if err := os.RemoveAll(filepath.Join(dir, results.ProfilesDir)); err != nil {
		t.Fatal(err)
	}
	if page := reportOf(t, dir); !strings.Contains(page, "Nothing to draw.") ||
		strings.Contains(page, `class="flamegraph"`) {
		t.Error("a graph of nothing")
	}
}

// A large matrix makes no report without end: the bounds are of all graphs together.
func TestFlamesAreBounded(t *testing.T) {
	dir := profiledFolder(t, mostGraphs+3, 1, func(c, _ int) string { return fmt.Sprintf("f%d", c) })
	page := reportOf(t, dir)
	if n := strings.Count(page, `class="flamegraph"`); n != mostGraphs {
		t.Errorf("%d graphs", n)
	}
	if !strings.Contains(page, "3 more ends of cells have profiles") {
		t.Error("nobody says that there are more")
	}
}

// A small file that has many bytes unpacked takes the room of those, whether it is a profile or
// not, and no file is looked for after that, nor beyond as many as a graph may have.
func TestFlamesOfManyBytes(t *testing.T) {
	dir := profiledFolder(t, 1, 6, func(_, i int) string { return fmt.Sprintf("f%d", i) })
	whole := filepath.Join(dir, results.ProfilesDir, "s-0-0-sut.pb.gz")
	packed, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	one := max(len(plain), len(packed))
	draw := func(files, room int) report.Flame {
		e := report.ProfiledEnd{End: "SUT", Runs: []string{"s-0-0", "s-0-1", "s-0-3", "s-0-4", "s-0-5"}}
		return flameOf(t.Context(), folderOf(t, dir), e, ProfileReader{files, room, 1000}, 100)
	}
	says := func(what string, f report.Flame, want string) {
		t.Helper()
		if !strings.Contains(strings.Join(f.Notes, " "), want) {
			t.Errorf("%s: %q, not %q", what, f.Notes, want)
		}
	}
	says("as many as there are", draw(5, 10*one), "From 5 of 5 runs.")
	says("files", draw(3, 10*one),
		"From 3 of 5 runs. The others: profiles/s-0-4-sut.pb.gz: reading stops before this profile")
	says("bytes", draw(5, 2*one), "From 2 of 5 runs.")
	says("of one too many", draw(5, one-1), "From 0 of 5 runs.")
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := w.Write(make([]byte, 8*one)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if bomb.Len() > one {
		t.Fatalf("%d bytes packed: no bomb", bomb.Len())
	}
	if err := os.WriteFile(whole, bomb.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	says("a bomb", draw(5, 8*one), "From 0 of 5 runs.")
	says("a bomb with room beside it", draw(5, 10*one+one/2), "From 2 of 5 runs.")
}

// Profiles whose stacks have more functions than a report may follow are left out, which is said,
// and none is read for somebody who has left.
func TestFlamesOfManySteps(t *testing.T) {
	dir := profiledFolder(t, 1, 6, func(_, i int) string { return fmt.Sprintf("f%d", i) })
	const of = 1 + 3*2 // a sample of three places with a function each
	e := report.ProfiledEnd{End: "SUT", Runs: []string{"s-0-0", "s-0-1", "s-0-3", "s-0-4", "s-0-5"}}
	for steps, want := range map[int]string{5 * of: "From 5 of 5 runs.",
		5*of - 1: "From 4 of 5 runs. The others: profiles/s-0-5-sut.pb.gz: " + ErrProfileBound.Error(),
		of:       "From 1 of 5 runs.", of - 1: "From 0 of 5 runs."} {
		f := flameOf(t.Context(), folderOf(t, dir), e, ProfileReader{5, 1 << 20, steps}, 100)
		if got := strings.Join(f.Notes, " "); !strings.Contains(got, want) {
			t.Errorf("%d steps: %q, not %q", steps, got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := flameOf(ctx, folderOf(t, dir), e, *NewProfileReader(), 100); !strings.Contains(strings.Join(f.Notes, " "),
		"From 0 of 5 runs. The others: profiles/s-0-0-sut.pb.gz: context canceled") {
		t.Errorf("%q", f.Notes)
	}
	was := reportOf(t, dir)
	if _, err := Report(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("a report for nobody: %v", err)
	}
	if is, err := os.ReadFile(filepath.Join(dir, results.ReportFile)); err != nil || string(is) != was {
		t.Errorf("%v: the report is another", err)
	}
}
