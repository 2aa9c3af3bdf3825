// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

func ptr[T any](v T) *T { return &v }

// sample is a record with every kind of field set.
func sample(seq int) Record {
	gro := true
	return Record{
		Schema: SchemaVersion, RunID: fmt.Sprintf("r%03d", seq), SessionID: "s1",
		Cell: plan.Cell{ID: "uring/uring-zc", RX: "uring", TX: "uring-zc", GRO: &gro, MTU: 4148, MessageBytes: 64 << 20,
			Touch: "verify"},
		Block: seq / 4, Seq: seq, Rep: seq, Warmup: seq == 0, StartUTCNs: 1_790_000_000_123_456_789,
		SUT: Host{Name: "netns:a", Env: measure.Env{Kernel: "6.18.5", CPUs: 2, IRQCPU: "0", ToolVersion: "v0.1"},
			DurationS: ptr(1.5), Bytes: ptr(uint64(3_000_000_000)), ThroughputGbps: ptr(16.0),
			CPUAppCores: ptr(0.1), CPUSysCores: ptr(0.6), CPUSoftCores: ptr(0.3), CPUBusyCores: ptr(1.0),
			IOWaitCores: ptr(0.0), StatCoverage: ptr(0.998), Mismatches: ptr(uint64(0)),
			Metrics: []measure.Metric{{Name: "tcp_rtt", Unit: "s", Value: 1.25e-5, Source: "TCP_INFO"}},
			Series:  []measure.Series{{Name: "gbps", Unit: "Gbit/s", T: []int64{-1, 5}, V: []float64{15.5, 16.25}}}},
		TG: Host{Name: "netns:b", DurationS: ptr(1.5), Bytes: ptr(uint64(3_000_000_000)), ThroughputGbps: ptr(16.0),
			CPUBusyCores: ptr(0.5), PowerW: ptr(240.0), PowerSource: "redfish=https://bmc1", PowerScope: "board",
			ZeroCopyBytes: ptr(uint64(0)), CopiedBytes: ptr(uint64(3_000_000_000))},
		Verdict: Invalid, Reason: "a \"zero copy\" run copied;\nall of it", Fix: "use, a NIC",
		Warnings: []string{`odd; text with \`, "second"}, Flags: []string{"shared-machine", "tx-copied"},
	}
}

func writeJournal(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out", "demo")
	w, err := Create(dir, Header{ToolVersion: "v0.1", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range n {
		if err := w.Append(sample(i)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestJournalRoundTrip(t *testing.T) {
	dir := writeJournal(t, 3)
	path := filepath.Join(dir, JournalFile)
	j, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Record{sample(0), sample(1), sample(2)}, j.Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if len(j.Skipped) != 0 {
		t.Errorf("skipped %v", j.Skipped)
	}
	if h := j.Header; h.SessionID != "s1" || h.ToolVersion != "v0.1" || h.CreatedUTCNs == 0 ||
		h.Schema != SchemaVersion {
		t.Errorf("header %+v", h)
	}
	if st, _ := os.Stat(path); st.Size() != j.End {
		t.Errorf("End = %d, file has %d bytes", j.End, st.Size())
	}
}

func TestReadFigures(t *testing.T) {
	j, err := ReadFigures(filepath.Join(writeJournal(t, 2), JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{sample(0), sample(1)}
	for i := range want {
		want[i].SUT.Metrics, want[i].SUT.Series = nil, nil
	}
	if diff := cmp.Diff(want, j.Records); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A kill -9 or a power cut leaves any prefix of the last run.
func TestJournalCutAtEveryByte(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(writeJournal(t, 3), JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	last := len(bytes.Join(lines[:5], nil)) // the header, two runs
	for cut := last; cut < len(data); cut++ {
		j, err := Decode(bytes.NewReader(data[:cut]))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if diff := cmp.Diff([]Record{sample(0), sample(1)}, j.Records); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", cut, diff)
		}
		if j.End != int64(last) {
			t.Fatalf("cut at %d: End = %d, want %d", cut, j.End, last)
		}
		torn := cut > last
		if torn != (len(j.Skipped) == 1) {
			t.Fatalf("cut at %d: skipped %v", cut, j.Skipped)
		}
		if torn && (j.Skipped[0].Line != 6 || j.Skipped[0].Offset != int64(last) || !strings.Contains(j.Skipped[0].Why,
			"incomplete")) {
			t.Fatalf("cut at %d: %v", cut, j.Skipped[0])
		}
	}
}

func TestJournalBadLines(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(writeJournal(t, 4), JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	l := strings.SplitAfter(string(data), "\n")
	h, m, a, b, c, d := l[0], l[1], l[1]+l[2], l[3]+l[4], l[5]+l[6], l[7]+l[8]
	plain := strings.Replace(l[2], `,"detailed":true`, "", 1)
	moved := strings.Replace(m, `"kind":"details",`, "", 1)
	moved = strings.Replace(moved, `{"run_id"`, `{ "kind":"details", "run_id"`, 1)
	for _, tt := range []struct {
		name, text string
		want       []string // run ids
		skipped    string   // "line: part of the reason", of each
	}{
		{"garbage", h + a + "\x00\x00\x00\n" + b, []string{"r000", "r001"}, "4: not a record"},
		{"empty line", h + a + "\n" + b, []string{"r000", "r001"}, "4: not a record"},
		{"not an object", h + "[1]\n" + a, []string{"r000"}, "2: not a record"},
		{"two lines run together", h + a + strings.TrimSuffix(b, "\n") + c + d, []string{"r000", "r003"},
			"4: metrics; 5: not a record; 6: the metrics"},
		{"duplicate", h + a + b + a + c, []string{"r000", "r001", "r002"}, "7: duplicate run_id \"r000\""},
		{"reordered", h + a + c + b + d, []string{"r000", "r002", "r003"},
			"7: run \"r001\" is out of order: seq 1 after 2"},
		{"second header", h + a + h + b, []string{"r000", "r001"}, "4: no run_id"},
		{"no verdict", h + a + strings.Replace(b, `"verdict":"invalid"`, `"verdict":"fine"`, 1), []string{"r000"},
			"5: unknown verdict"},
		{"series", h + strings.Replace(a, `[-1,5]`, `[-1]`, 1) + b, []string{"r001"}, "3: series \"gbps\""},
		{"torn", h + a + b[:20], []string{"r000"}, "4: incomplete"},
		{"torn between its lines", h + a + l[3], []string{"r000"}, "4: incomplete: metrics and series"},
		{"torn in its last line", h + a + l[3] + l[4][:20], []string{"r000"}, "4: incomplete: metrics and series"},
		{"without metrics", h + plain, []string{"r000"}, ""},
		{"metrics written otherwise", h + moved + l[2], []string{"r000"}, ""},
		{"metrics of nobody", h + strings.Replace(m, `"run_id":"r000"`, `"run_id":""`, 1) + l[2], nil,
			"2: not a record: metrics and series without a run_id; 3: the metrics"},
		{"metrics lost", h + l[2] + b, []string{"r001"}, "2: the metrics and series of run \"r000\" are not"},
		{"metrics without their record", h + m + b, []string{"r001"}, "2: metrics and series without a record"},
		{"metrics of another run", h + l[3] + l[2], nil,
			"2: metrics and series without a record; 3: the metrics and series of run \"r000\" are not"},
		{"metrics that nobody misses", h + m + plain, []string{"r000"}, "2: metrics and series without a record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j, err := Decode(strings.NewReader(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range j.Records {
				got = append(got, r.RunID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("run ids (-want +got):\n%s", diff)
			}
			var want []string
			if tt.skipped != "" {
				want = strings.Split(tt.skipped, "; ")
			}
			same := func(p Problem, want string) bool {
				return strings.HasPrefix(fmt.Sprintf("%d: %s", p.Line, p.Why), want)
			}
			if !slices.EqualFunc(j.Skipped, want, same) {
				t.Errorf("skipped %v, want %s", j.Skipped, tt.skipped)
			}
		})
	}
}

func TestJournalRefused(t *testing.T) {
	const head = `{"kind":"zcbench-journal","schema":1}` + "\n"
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "line 1: the file is empty"},
		{"torn header", head[:10], "line 1: no header: incomplete"},
		{"other JSON", "{\"a\":1}\n", "line 1: not a zcbench journal"},
		{"not JSON", "hello\n", "line 1: not the header of a zcbench journal"},
		{"newer header", strings.Replace(head, ":1}", ":99}", 1), "line 1: schema version 99 is newer than 3"},
		{"newer record", head + `{"schema":99}` + "\n", "line 2: schema version 99 is newer than 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestJournalLongLine(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(writeJournal(t, 2), JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	h, rest, _ := strings.Cut(string(data), "\n")
	text := h + "\n" + strings.Repeat("x", 1<<20) + "\n" + rest
	j, err := decode(strings.NewReader(text), 4096, wholeRecords)
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Records) != 2 || len(j.Skipped) != 1 || j.Skipped[0].Why != "longer than 4096 bytes" {
		t.Errorf("%d records, skipped %v", len(j.Records), j.Skipped)
	}
}

func TestJournalManyBadLines(t *testing.T) {
	text := `{"kind":"zcbench-journal","schema":1}` + strings.Repeat("\n", 5000)
	j, err := Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(j.Skipped); n != maxProblems || !strings.HasSuffix(j.Skipped[n-1].Why, "and 3999 more lines after it") {
		t.Errorf("%d problems, last %v", n, j.Skipped[n-1])
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Run("two writers", func(t *testing.T) {
		dir := t.TempDir()
		w, err := Create(dir, Header{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Create(dir, Header{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), w.Path()) {
			t.Errorf("while it is written: %v", err)
		}
		w.Close()
		if _, err := Create(dir, Header{}); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), w.Path()) {
			t.Errorf("afterwards: %v", err)
		}
	})
	t.Run("old results", func(t *testing.T) {
		dir := t.TempDir()
		old := filepath.Join(dir, RunsFile)
		if err := os.WriteFile(old, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(dir, Header{}); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), old) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a file in the way", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Create(filepath.Join(file, "out"), Header{})
		if p := (*fs.PathError)(nil); !errors.As(err, &p) || !errors.Is(err, syscall.ENOTDIR) || p.Path != file {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a folder that takes no files", func(t *testing.T) {
		_, err := Create("/proc/self", Header{}) // even root cannot write there
		if err == nil || !strings.Contains(err.Error(), "/proc/self/"+JournalFile) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAppendRefuses(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Append(sample(3)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want   string
		change func(*Record)
	}{
		{"no run_id", func(r *Record) { r.RunID = "" }},
		{"no cell id", func(r *Record) { r.Cell.ID = "" }},
		{"unknown verdict", func(r *Record) { r.Verdict = "" }},
		{"duplicate run_id", func(r *Record) { r.RunID = "r003" }},
		{"out of order", func(r *Record) { r.Seq = 3 }},
		{"newer than", func(r *Record) { r.Schema = SchemaVersion + 1 }},
		{"NaN", func(r *Record) { r.SUT.PowerW = ptr(math.NaN()) }},
	} {
		r := sample(4)
		tt.change(&r)
		if err := w.Append(r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	r := sample(0)
	r.SessionID, r.Schema = "s2", 0 // a resumed plan counts from 0 again
	if err := w.Append(r); err != nil {
		t.Error(err)
	}
	j, err := Read(w.Path())
	if err != nil || len(j.Records) != 2 || len(j.Skipped) != 0 {
		t.Errorf("read back %d records, skipped %v, error %v", len(j.Records), j.Skipped, err)
	}
}

// After a write that failed half way the next one must not be glued to it.
func TestAppendAfterFailedWrite(t *testing.T) {
	w, err := Create(t.TempDir(), Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	good := w.f
	bad, err := os.Open(w.Path()) // read-only: writes and truncation fail
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	w.f = bad
	if err := w.Append(sample(0)); !errors.Is(err, syscall.EBADF) {
		t.Errorf("got %v", err)
	}
	w.f = good
	if err := w.Append(sample(0)); err == nil || !strings.Contains(err.Error(), "journal is damaged") {
		t.Errorf("a broken journal took a record: %v", err)
	}
}

func TestOldJournal(t *testing.T) {
	j, err := Read("testdata/journal-v1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Records) != 2 || len(j.Skipped) != 0 || *j.Records[0].SUT.ThroughputGbps != 16 ||
		j.Records[1].Verdict != Unsupported {
		t.Errorf("%+v", j)
	}
}

// The form in which schema 3 is written is on record, for the versions to come.
func TestJournalForm(t *testing.T) {
	text, err := encodeLine(Header{Kind: journalKind, Schema: SchemaVersion, ToolVersion: "v0.1", SessionID: "s1",
		CreatedUTCNs: 1_790_000_000_000_000_000})
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{probedSample(0), stopped(1)}
	want[0].SUT.Metrics = append(want[0].SUT.Metrics, measure.Metric{Name: measure.MetricGHz, Of: []string{"3"},
		Unit:  "GHz",
		Value: 3.5, Source: "msr"})
	want[1].Schema = SchemaVersion
	for _, r := range want {
		run, err := encodeRun(r)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, run...)
	}
	golden(t, "journal-v3.jsonl", text)
	j, err := Read("testdata/journal-v3.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, j.Records); d != "" || len(j.Skipped) != 0 {
		t.Errorf("skipped %v (-want +got):\n%s", j.Skipped, d)
	}
}

func FuzzJournal(f *testing.F) {
	data, err := os.ReadFile("testdata/journal-v1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-7])
	run, err := encodeRun(sample(0))
	if err != nil {
		f.Fatal(err)
	}
	head, _, _ := bytes.Cut(data, []byte("\n"))
	f.Add(append(append(head[:len(head):len(head)], '\n'), run...))
	flows, err := encodeRun(flowing(0, 5, 7))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(append(head[:len(head):len(head)], '\n'), flows...))
	f.Fuzz(func(t *testing.T, data []byte) {
		frugal.Do(t, func() {
			_, ferr := decode(bytes.NewReader(data), 1<<16, figuresOnly)
			j, err := decode(bytes.NewReader(data), 1<<16, wholeRecords)
			if err == nil && ferr != nil { // may notice less
				t.Fatalf("the figures alone cannot be read: %v", ferr)
			}
			if err != nil {
				return
			}
			if n := bytes.Count(data, []byte("\n")) + 1; len(j.Records)+len(j.Skipped) > n {
				t.Fatalf("%d records and %d problems from %d lines", len(j.Records), len(j.Skipped), n)
			}
			o := newOrder()
			for i := range j.Records {
				if err := errors.Join(j.Records[i].validate(), o.check(&j.Records[i])); err != nil {
					t.Fatal(err)
				}
				o.add(&j.Records[i])
			}
			// What one can read, one can derive the CSVs from.
			var b bytes.Buffer
			if err := errors.Join(WriteRuns(&b, j.Records), writeMetrics(&b, j.Records), writeSamples(&b, j.Records),
				WriteFlows(&b, j.Records)); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// A journal of anybody's is read up to so many runs, and one with more is refused by that number.
func TestReadFiguresUpTo(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Header{ToolVersion: "t", SessionID: "s1", CreatedUTCNs: 1,
		Cells: []plan.Cell{flowing(1).Cell}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r := flowing(1)
		r.RunID, r.SessionID, r.Seq, r.Rep = fmt.Sprint("r", i), "s1", i, i
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]string{2: "the journal has more than 2 runs", 3: "", 4: ""} {
		j, err := folderOf(t, dir).ReadFiguresUpTo(most)
		switch {
		case want == "" && (err != nil || len(j.Records) != 3 || len(j.Skipped) != 0):
			t.Errorf("at most %d: %d records, skipped %v, %v", most, len(j.Records), j.Skipped, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("at most %d: %d records, %v", most, len(j.Records), err)
		}
	}
}
