// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
)

// madePairs writes the folders p0 to p8 into out; p4 is 10 % slow, and its host means ill.
func madePairs(t *testing.T, out string) {
	t.Helper()
	for i := range 9 {
		gbps := 40.0
		if i == 4 {
			gbps *= .9
		}
		j := plantest.Journal(uint64(i+1), 6, plantest.Cell{Cell: plantest.Modes("tcp", "sendfile"), Gbps: gbps,
			Cores: 1.5, TGCores: .5, CV: .01})
		w, err := results.Create(filepath.Join(out, fmt.Sprint("p", i)), j.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range j.Records {
			r.SUT.Env.Hostname, r.TG.Env.Hostname = fmt.Sprint("r", i), fmt.Sprint("s", i)
			if i == 4 {
				r.SUT.Env.Hostname += hostile + "<script>"
			}
			if err := w.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFleet(t *testing.T) {
	dir := t.TempDir()
	madePairs(t, filepath.Join(dir, "out"))
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		line   string
		status int
		says   string
	}{
		{"zcbench fleet out", 0, "9 pairs: 1 significantly slower"},
		{"zcbench fleet out out/p4 --all", 0, "9 pairs: 1 significantly slower"},
		{"zcbench fleet --fail-if-off 3% out", 1, "1 pairs are significantly off, by more than 3%"},
		{"zcbench fleet --fail-if-off 20% out", 0, "cannot be told apart"},
		{"zcbench fleet --metric cpu_busy_cores --fail-if-off 3% out", 0, "0 significantly costlier"},
		{"zcbench fleet out empty", 0, "there is no journal"},
		{"zcbench fleet empty", 2, "holds no results"},
		{"zcbench fleet none", 2, "none"},
		{"zcbench fleet --fail-if-off much out", 2, "is not a percentage"},
		{"zcbench fleet --metric speed out", 2, "unknown metric"},
		{"zcbench fleet", 2, "at least 1 arg"},
		{"zcbench export out/p1", 2, "--prometheus"},
		{"zcbench export --csv --to x.prom out/p1", 2, "--to is for --prometheus"},
		{"zcbench export --prometheus out/p1 --to none/x.prom", 1, "none/x.prom"},
	} {
		got := string(ran(t, dir, x.line))
		if !strings.Contains(got, fmt.Sprintf("exit status %d\n", x.status)) ||
			!strings.Contains(strings.Join(strings.Fields(got), " "), x.says) {
			t.Errorf("want exit status %d and %q:\n%s", x.status, x.says, got)
		}
		wantPlain(t, x.line, got)
	}

	got := ran(t, dir, "zcbench fleet --json --html fleet.html --csv fleet.csv out")
	var all struct {
		Pairs []struct {
			Dir     string
			Overall struct{ Share, Lo, Hi float64 }
		}
	}
	if err := json.Unmarshal(got[bytes.IndexByte(got, '{'):], &all); err != nil || len(all.Pairs) != 9 ||
		all.Pairs[4].Dir != "out/p4" || all.Pairs[4].Overall.Hi > -.05 {
		t.Errorf("%v: %.2000s", err, got)
	}
	for name, want := range map[string]string{"fleet.html": "out/p4", "fleet.csv": "\nout/p4,"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || name == "fleet.csv" && !strings.Contains(string(text), want) {
			t.Errorf("%s: %v: %.300s", name, err, text)
		}
		if strings.Contains(string(text), hostile) || name == "fleet.html" &&
			strings.Contains(string(text), "r4<script>") {
			t.Errorf("%s has a stranger's words as they are", name)
		}
		wantPlain(t, name, string(text))
	}
}

// What Prometheus reads replaces what was there before, or nothing happens.
func TestExportPrometheus(t *testing.T) {
	dir := t.TempDir()
	madePairs(t, filepath.Join(dir, "out"))
	to := filepath.Join(dir, "zcbench.prom")
	if err := os.WriteFile(to, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, line := range map[string]string{
		to: "zcbench export --prometheus out/p4 --to zcbench.prom",
		filepath.Join(dir, "out", "p1", "runs.prom"): "zcbench export --prometheus out/p1",
	} {
		if got := string(ran(t, dir, line)); !strings.Contains(got, "exit status 0\n") {
			t.Fatal(got)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p := expfmt.NewTextParser(model.LegacyValidation)
		families, err := p.TextToMetricFamilies(bytes.NewReader(text))
		if err != nil || families["zcbench_throughput_median_bytes_per_second"] == nil {
			t.Errorf("%s: %v\n%s", line, err, text)
		}
		wantPlain(t, line, string(text))
	}
}
