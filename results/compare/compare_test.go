// SPDX-License-Identifier: MIT

package compare

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func ptr[T any](v T) *T { return &v }

// set is a set with one cell for each list of throughputs.
func set(name string, cells map[plan.Cell][]float64) Set {
	var j results.Journal
	for c, gbps := range cells {
		for _, v := range gbps {
			r := results.Record{Cell: c, Verdict: results.OK}
			r.SUT = results.Host{ThroughputGbps: ptr(v), CPUBusyCores: ptr(1.0), DurationS: ptr(1.0),
				Bytes: ptr(uint64(v * 1e9 / 8))}
			j.Records = append(j.Records, r)
		}
	}
	return NewSet(name, j)
}

var tcp = plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp", Touch: "read"}

func metrics(t *testing.T, names ...string) []Metric {
	t.Helper()
	m, err := Lookup(names)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Watts of two instruments are not two cells' watts: nothing is said of them.
func TestOtherInstrument(t *testing.T) {
	watts := func(by results.Instrument, w float64) Set {
		s := set(by.String(), map[plan.Cell][]float64{tcp: {100, 101, 99, 100.5, 99.5, 100.2}})
		for i, r := range s.Cells[0].Runs {
			r.SUT.PowerW, r.SUT.PowerSource, r.SUT.PowerScope = ptr(w+float64(i)/10), by.Source, by.Scope
		}
		return s
	}
	rapl := results.Instrument{Source: "rapl", Scope: "package"}
	for _, c := range []struct {
		by    results.Instrument
		other string
	}{
		{rapl, ""},
		{results.Instrument{Source: "rapl"}, ""}, // of an older journal
		{results.Instrument{Source: "redfish=https://bmc1", Scope: "board"},
			"rapl (package), redfish=https://bmc1 (board)"},
		{results.Instrument{Source: "rapl", Scope: "board"}, "rapl (package), rapl (board)"},
		{results.Instrument{}, "rapl (package), unknown"},
	} {
		a, b := watts(rapl, 100), watts(c.by, 200)
		r, err := Compare(&a, &b, metrics(t, "power_w", "roi_power", "joule_per_gb", "throughput_gbps", "roi_cpu"))
		if err != nil || len(r.Rows) != 5 {
			t.Fatalf("%+v, %v", r, err)
		}
		for i := range r.Rows {
			row := &r.Rows[i]
			switch {
			case i > 2: // not of power
				if row.Other != "" || row.Diff.Ratio == nil {
					t.Errorf("%v: %s: %+v", c.by, row.Metric, row)
				}
			case c.other == "":
				if row.Other != "" || row.Verdict == Unsure {
					t.Errorf("%v: %s: %s", c.by, row.Metric, row.VerdictText())
				}
			case row.Verdict != Unsure || row.RatioText() != "-" || row.PText() != "-" || row.Worse(0) ||
				row.VerdictText() != "cannot tell (other instrument: "+c.other+")":
				t.Errorf("%v: %s: %s, ratio %s, p %s", c.by, row.Metric, row.VerdictText(), row.RatioText(),
					row.PText())
			}
		}
	}
}

func TestMatch(t *testing.T) {
	big := tcp
	big.MTU = 9000
	a, b := set("a", map[plan.Cell][]float64{tcp: {1}}), set("b", map[plan.Cell][]float64{big: {1}})
	if _, err := Compare(&a, &b, metrics(t, "throughput_gbps")); !errors.Is(err, ErrNothing) {
		t.Errorf("another MTU: %v", err)
	}
	b.Chosen = []string{"mtu"}
	if r, err := Compare(&a, &b, metrics(t, "throughput_gbps")); err != nil || len(r.Rows) != 1 {
		t.Errorf("a chosen MTU: %v", err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for i, rx := range []string{"tcp", "uring", "tcp"} {
		r := results.Record{RunID: string(rune('a' + i)), SessionID: "s", Seq: i, Cell: plan.Cell{ID: rx, RX: rx,
			TX: "tcp"}, Verdict: results.OK, Warmup: i == 0}
		r.SUT.ThroughputGbps = ptr(10.0)
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	s, err := Load(dir, (*results.Folder).ReadFigures)
	if err != nil || len(s.Cells) != 2 || len(s.Cells[1].Runs) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := Load(dir+"@rx=uring", (*results.Folder).ReadFigures); err != nil || len(s.Cells) != 1 ||
		s.Chosen[0] != "rx" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{dir + "@rx", dir + "@color=red", dir + "@rx=zcrx", dir + "/no"} {
		if _, err := Load(bad, (*results.Folder).ReadFigures); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if s, err := Load(filepath.Join(dir, results.JournalFile), (*results.Folder).ReadFigures); err != nil ||
		len(s.Cells) != 2 || s.Dir != dir ||
		s.Table {
		t.Errorf("a folder's journal: %+v, %v", s, err)
	}
	j, _ := results.Read(filepath.Join(dir, results.JournalFile))
	if err := folderOf(t, dir).WriteCSV(j.Records); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(filepath.Join(dir, results.RunsFile), (*results.Folder).ReadFigures); err != nil ||
		len(s.Cells) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	os.Remove(filepath.Join(dir, results.JournalFile))
	if s, err := Load(dir, (*results.Folder).ReadFigures); err != nil || len(s.Cells) != 2 {
		t.Errorf("a folder of CSVs: %+v, %v", s, err)
	}
	// A folder from somebody else has nothing that is waited for.
	path := filepath.Join(dir, results.RunsFile)
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := Load(dir, (*results.Folder).ReadFigures); done <- err }()
	if err := await.Chan(t, "a pipe is refused", done); err == nil {
		t.Error("a pipe has runs")
	}
}

// Published figures stand beside own ones: what they do not say matches anything.
func TestPublished(t *testing.T) {
	files, _ := filepath.Glob("../reference/*.csv")
	if len(files) < 2 {
		t.Fatalf("published figures: %v", files)
	}
	for _, f := range files {
		s, err := Load(f, (*results.Folder).ReadFigures)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Cells {
			if c.Source == "" || len(c.Runs) == 0 || c.Runs[0].SUT.ThroughputGbps == nil &&
				c.Runs[0].SUT.PacketsPerS == nil {
				t.Errorf("%s: %+v", f, c)
			}
		}
	}
	ref, err := Load("../reference/battle-of-the-zcs.csv", (*results.Folder).ReadFigures)
	if err != nil {
		t.Fatal(err)
	}
	own := plan.Cell{ID: "own", RX: "zcrx", TX: "msg-zerocopy", GRO: ptr(true), HWGRO: ptr(true), CPULayout: "2cpu",
		MTU: 4148, MessageBytes: 64 << 20,
		BigTCPBytes: 65536, TGBigTCPBytes: 65536}
	b := set("own", map[plan.Cell][]float64{own: {180, 181, 182, 180, 181, 182}})
	r, err := Compare(&ref, &b, metrics(t, "throughput_gbps"))
	if err != nil || len(r.Rows) != 1 || r.Rows[0].SumA.Median != 190.06 || r.Rows[0].Verdict != Unsure ||
		len(r.OnlyA) != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"190.06", "0.95", "cannot tell (published figure)",
		"[1] published: \"The Battle of the ZCs\"", "118.47"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestWithin(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	s := set("s", map[plan.Cell][]float64{tcp: {1, 2, 3, 4, 5, 6}, uring: {11, 12, 13, 14, 15, 16}})
	r, err := Within(&s, tcp, metrics(t, "throughput_gbps"))
	if err != nil || len(r.Rows) != 1 || r.Rows[0].Verdict != Faster || r.Rows[0].Label() != "uring/tcp : tcp/tcp" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Within(&s, plan.Cell{RX: "zcrx"}, metrics(t, "throughput_gbps")); err == nil {
		t.Error("compared with a cell that is not there")
	}
	if _, err := Lookup([]string{"speed"}); err == nil || !strings.Contains(err.Error(), "throughput_gbps") {
		t.Errorf("unknown metric: %v", err)
	}
}

// Comparisons that were declared to count come first, and the others, which are called exploratory,
// have what they leave. What no data could show is said.
func TestPrimary(t *testing.T) {
	cells := map[plan.Cell][]float64{tcp: {100, 101, 99, 100.5, 99.5, 100.2}}
	for i := range 24 {
		id := fmt.Sprint("c", i)
		var v []float64
		for k := range 6 {
			v = append(v, 200+10*float64(i)+float64(k)/10)
		}
		cells[plan.Cell{ID: id, RX: "tcp", TX: "tcp", Touch: "read", MTU: 1500 + i}] = v
	}
	s := set("s", cells)
	verdicts := func() (n map[string]int) {
		r, err := Within(&s, tcp, metrics(t, "throughput_gbps"))
		if err != nil {
			t.Fatal(err)
		}
		n = map[string]int{}
		for i := range r.Rows {
			n[r.Rows[i].VerdictText()]++
		}
		return n
	}
	if got, want := verdicts(),
		(map[string]int{"cannot tell (with 6 runs in 24 comparisons, p is at least 0.065)": 24}); !maps.Equal(got,
		want) {
		t.Errorf("%v, want %v", got, want)
	}
	s.Primary = []string{"c0", "c1"}
	if got, want := verdicts(), (map[string]int{"faster": 2,
		"cannot tell (with 6 runs in 22 comparisons, p is at least 0.24)": 22}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for c := range cells {
		if c.MTU >= 1512 {
			delete(cells, c)
		}
	}
	s = set("s", cells)
	s.Primary = []string{"c0", "c1"}
	if got, want := verdicts(), (map[string]int{"faster": 2, "faster (exploratory)": 10}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
