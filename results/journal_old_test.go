// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
)

// probedSample is a record with what probes saw.
func probedSample(seq int) Record {
	r := sample(seq)
	r.Cell.Probe = "latency+syscalls+zc"
	r.SUT.Probes = &Probes{Sample: 16, T0: "tcx ingress of veth0",
		Counters: []Counter{{"napi_polls", "polls", ptr(7.0)}},
		Stages: []Stage{{Name: "softirq_run", Hook: "tp_btf/softirq_entry", Count: ptr(5.0), Negative: ptr(0.0),
			Unstamped: ptr(1.0), P50: ptr(900.0), P999: ptr(1e4)},
			{Name: "tcp_read", Hook: "fentry/a fentry/b", Count: ptr(4.0), Mean: ptr(2.5), Max: ptr(3.0)}},
		Calls: []Syscall{{Name: "io_uring_enter", Calls: ptr(3.0), Errors: ptr(0.0), Avg: ptr(.5), PerSecond: ptr(2.0)},
			{Name: "read", Calls: ptr(1.0)}}}
	return r
}

// asSchema2 is r as schema 2 had it: rows of metrics.csv alone.
func asSchema2(r Record) Record {
	r.Schema = 2
	for _, h := range []*Host{&r.SUT, &r.TG} {
		h.Metrics, h.Probes = h.Rows(), nil
	}
	return r
}

// What probes saw, and whose figure a metric is, is read out of names only in old records,
// and comes out as the new ones have it; both make the same rows.
func TestOldNames(t *testing.T) {
	now := probedSample(0)
	now.SUT.Metrics = []measure.Metric{{Name: measure.MetricIdleState, Of: []string{"2", "c6"}, Value: .5},
		{Name: measure.MetricGHz, Of: []string{"12"}, Value: 3},
		{Name: "cpuidle_cpu2_c6_entries", Value: 4}, {Name: "pmu_cpu1_cycles_per_s", Value: 1}}
	old := asSchema2(now)
	rows := old.SUT.Metrics
	for i, want := range []string{"cpuidle_cpu2_c6_cores", "pmu_cpu12_ghz", "cpuidle_cpu2_c6_entries"} {
		if rows[i].Name != want || rows[i].Of != nil {
			t.Errorf("row %d is %+v, want %s", i, rows[i], want)
		}
	}
	if d := cmp.Diff(measure.Metric{Name: "latency_softirq_run_count", Unit: "packets", Value: 5,
		Source: "eBPF tp_btf/softirq_entry"}, rows[4]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("eBPF fentry/a fentry/b; t0: tcx ingress of veth0", rows[len(rows)-10].Source); d != "" {
		t.Error(d)
	}
	var text bytes.Buffer
	for _, v := range []any{Header{Kind: journalKind, Schema: 2}, old} {
		line, err := encodeLine(v)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(line)
	}
	for name, parse := range map[string]reading{"whole": wholeRecords, "figures": figuresOnly} {
		j, err := decode(bytes.NewReader(text.Bytes()), maxLine, parse)
		if err != nil || len(j.Records) != 1 {
			t.Fatal(err, j.Skipped)
		}
		got := j.Records[0]
		want := now.SUT.Probes
		want.Sample = 0
		if d := cmp.Diff(want, got.SUT.Probes); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if name == "figures" {
			continue
		}
		if d := cmp.Diff(now.SUT.Metrics, got.SUT.Metrics[:len(now.SUT.Metrics)]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if d := cmp.Diff(rows, got.rows(&got.SUT)); d != "" {
			t.Errorf("rows (-want +got):\n%s", d)
		}
	}
}

// Names that no probe has make nothing, whatever they look like.
func TestOddOldNames(t *testing.T) {
	var metrics []measure.Metric
	for _, name := range []string{"latency__p50", "latency_p50", "syscall_", "latency_", "probe", "latency_x_p5",
		"latency_sample_packets"} {
		metrics = append(metrics, measure.Metric{Name: name, Source: probeSource})
	}
	metrics = append(metrics, measure.Metric{Name: "latency_c_p50", Source: "elsewhere"})
	p := probesOf(metrics)
	if p == nil || len(p.Stages) != 1 || p.Stages[0].Name != "" || p.Calls != nil || p.Counters != nil {
		t.Errorf("%+v", p)
	}
	if p := probesOf(metrics[1:]); p != nil {
		t.Errorf("%+v", p)
	}
	for _, m := range []measure.Metric{{Name: "A_B", Of: []string{"x"}}, {Name: "a", Of: []string{"x", "y"}},
		{Name: "", Of: []string{"A"}}} {
		if got := m.Named(); got != strings.ReplaceAll(m.Name, "A", "x") {
			t.Errorf("%+v is named %q", m, got)
		}
	}
}

// goldenJournal is a measured journal of schema 2.
func goldenJournal(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("../cmd/zcbench/testdata/golden", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A journal of schema 2 that was cut in the middle of a line is gone on with in the form
// of now. All of it can be read, by both readers; an older zcbench refuses it by name.
func TestResumeSchema2(t *testing.T) {
	text := goldenJournal(t, "journal-v2-a.jsonl.gz")
	whole, err := Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, JournalFile)
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	w, j, torn, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	old := len(j.Records)
	if old < 10 || old > len(whole.Records)-10 || torn == 0 || j.Header.Schema != 2 {
		t.Fatalf("%d of %d records, %d bytes torn, schema %d", old, len(whole.Records), torn, j.Header.Schema)
	}
	want := append([]Record{}, j.Records...)
	for i := range 3 {
		r := probedSample(i)
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	w.Close()
	got, err := Read(path)
	if err != nil || len(got.Skipped) > 0 || got.Header.Schema != 2 {
		t.Fatalf("schema %d, skipped %v, %v", got.Header.Schema, got.Skipped, err)
	}
	if d := cmp.Diff(want, got.Records); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	figures, err := ReadFigures(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		for _, h := range []*Host{&want[i].SUT, &want[i].TG} {
			h.Metrics, h.Series = nil, nil
		}
	}
	if d := cmp.Diff(want, figures.Records); d != "" {
		t.Fatalf("figures (-want +got):\n%s", d)
	}
	if w, j, torn, err = Resume(dir); err != nil || torn != 0 || len(j.Records) != len(want) {
		t.Errorf("resumed a second time: %d records, %d torn, %v", len(j.Records), torn, err)
	}
	w.Close()
	// What was appended stands to an older zcbench as a record of schema 4 does to this one.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.ReplaceAll(data, []byte("{\"schema\":3,\"run_id\""), []byte("{\"schema\":4,\"run_id\""))
	for _, parse := range []reading{wholeRecords, figuresOnly} {
		_, err := decode(bytes.NewReader(newer), maxLine, parse)
		if v := (*versionError)(nil); !errors.As(err, &v) || v.Got != 4 {
			t.Errorf("%v", err)
		}
	}
}

// Old records that are written into a new journal, as power import does, stay what they
// were.
func TestCopySchema2(t *testing.T) {
	old, err := Decode(bytes.NewReader(goldenJournal(t, "journal-v2-b.jsonl.gz")))
	if err != nil {
		t.Fatal(err)
	}
	w, err := Create(filepath.Join(t.TempDir(), "copy"), old.Header)
	if err != nil {
		t.Fatal(err)
	}
	probed := false
	for _, r := range old.Records {
		probed = probed || r.SUT.Probes != nil
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	got, err := Read(w.Path())
	if err != nil || !probed {
		t.Fatal(err, probed)
	}
	if d := cmp.Diff(old.Records, got.Records); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var was, is bytes.Buffer
	if err := errors.Join(writeMetrics(&was, old.Records), writeMetrics(&is, got.Records)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was.Bytes(), is.Bytes()) {
		t.Error("metrics.csv is another one")
	}
	figures, err := ReadFigures(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	for i := range figures.Records {
		if d := cmp.Diff(old.Records[i].SUT.Probes, figures.Records[i].SUT.Probes); d != "" {
			t.Fatal(d)
		}
	}
}
