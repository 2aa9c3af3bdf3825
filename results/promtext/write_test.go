// SPDX-License-Identifier: MIT

package promtext

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
)

const _ = kind.Pure

var update = flag.Bool("update", false, "rewrite the golden file")

// written is what is written of a journal, and what Prometheus's own parser reads in it.
func written(t *testing.T, folder string, j results.Journal) (string, map[string]*dto.MetricFamily) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, folder, j); err != nil {
		t.Fatal(err)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return b.String(), families
}

// sample is the value of the only sample that has all of these labels.
func sample(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) *float64 {
	t.Helper()
	var found *float64
	for _, m := range families[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		all := true
		for i := 0; i < len(labels); i += 2 {
			all = all && has[labels[i]] == labels[i+1]
		}
		if all && found != nil {
			t.Errorf("%s has several of %v", name, labels)
		}
		if all {
			found = m.GetGauge().Value
		}
	}
	return found
}

func made(reps int) results.Journal {
	j := plantest.Journal(1, reps,
		plantest.Cell{Cell: plantest.Modes("tcp", "sendfile"), Gbps: 40, Cores: 1.5, TGCores: .5, Watts: 120, CV: .01,
			RXCopied: new(100.0)},
		plantest.Cell{Cell: plantest.Modes("zcrx", "sendfile"), Reason: "no queue", Verdict: results.Unsupported})
	for i := range j.Records {
		j.Records[i].StartUTCNs = j.Header.CreatedUTCNs + int64(i)*1e9
	}
	return j
}

// What is written is in base units, keeps to Prometheus's own rules, and says nothing of what was
// not measured.
func TestWrite(t *testing.T) {
	text, families := written(t, "quick", made(6))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	tcp := []string{"folder", "quick", "cell", "tcp/sendfile", "rx_mode", "tcp", "tx_mode", "sendfile"}
	for _, x := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"zcbench_throughput_median_bytes_per_second", []string{"role", "sut"}, 40e9 / 8},
		{"zcbench_throughput_lower_bytes_per_second", []string{"role", "sut"}, 40e9 / 8},
		{"zcbench_cpu_busy_median_cores", []string{"role", "tg"}, .5},
		{"zcbench_cpu_per_payload_median_seconds_per_byte", []string{"role", "sut"}, 1.5 / 5e9},
		{"zcbench_power_median_watts", []string{"role", "sut"}, 120},
		{"zcbench_energy_per_payload_median_joules_per_byte", []string{"role", "sut"}, 120 / 5e9},
		{"zcbench_copied_median_ratio", []string{"role", "sut"}, 1},
		{"zcbench_runs", []string{"verdict", "ok"}, 6},
		{"zcbench_runs", []string{"verdict", "failed"}, 0},
	} {
		got := sample(t, families, x.name, append(x.labels, tcp...)...)
		if got == nil || math.Abs(*got-x.want) > .05*x.want {
			t.Errorf("%s %v: %v, want about %v", x.name, x.labels, got, x.want)
		}
	}
	if got := sample(t, families, "zcbench_results_last_run_timestamp_seconds", "folder", "quick"); got == nil ||
		*got != 1_790_000_011 {
		t.Errorf("last run: %v", got)
	}
	for name, f := range families {
		if strings.Contains(name, "packets") || strings.Contains(name, "round_trip") ||
			strings.Contains(name, "frequency") {
			t.Errorf("%s was not measured", name)
		}
		for _, m := range f.GetMetric() {
			if m.TimestampMs != nil {
				t.Errorf("%s has a timestamp, which the collector refuses", name)
			}
		}
	}
	if got := sample(t, families, "zcbench_throughput_median_bytes_per_second", "cell", "zcrx/sendfile"); got != nil {
		t.Errorf("a cell that cannot run has a throughput of %v", *got)
	}
	if got := sample(t, families, "zcbench_runs", "cell", "zcrx/sendfile", "verdict", "unsupported"); got == nil ||
		*got != 6 {
		t.Errorf("%v runs of it are unsupported", got)
	}

	const path = "testdata/runs.prom.golden"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, d)
	}
}

// Few runs have a median, and no interval.
func TestFewRuns(t *testing.T) {
	_, families := written(t, "x", made(5))
	if families["zcbench_throughput_median_bytes_per_second"] == nil ||
		families["zcbench_throughput_lower_bytes_per_second"] != nil {
		t.Error("five runs have an interval, or no median")
	}
	_, families = written(t, "x", results.Journal{})
	if len(families) != 1 {
		t.Errorf("an empty journal has %d metrics", len(families))
	}
}

// No two samples have the same labels, also of cells that have one name: a scrape would fail.
func TestNoDuplicates(t *testing.T) {
	j := made(6)
	for i := range j.Records {
		c := &j.Records[i].Cell
		c.ID, c.RX, c.TX, c.MTU = "same", "tcp", "tcp", 1500+i%3
	}
	_, families := written(t, "x", j)
	for name, f := range families {
		seen := map[string]bool{}
		for _, m := range f.GetMetric() {
			if k := fmt.Sprint(m.GetLabel()); seen[k] {
				t.Errorf("%s: twice %s", name, k)
			} else {
				seen[k] = true
			}
		}
	}
	if got := sample(t, families, "zcbench_runs", "cell", "same #3", "verdict", "ok"); got == nil {
		t.Error("cells of one name are one")
	}
}

// A cell may be called as another one is numbered.
func TestNumberedName(t *testing.T) {
	e := exporter{used: map[string]int{}}
	seen := map[string]bool{}
	for _, id := range []string{"a", "a #2", "a", "a #3", "a", "a #2", "a #2 #2"} {
		got := e.labels(&plan.Cell{ID: id, RX: "tcp", TX: "tcp"})[0].GetValue()
		if seen[got] {
			t.Errorf("%s: twice %s", id, got)
		}
		seen[got] = true
	}
}

// Words from elsewhere break neither the format nor a terminal.
func FuzzWrite(f *testing.F) {
	f.Add("out\n# TYPE x counter\nx 1", "a\\\"b\x1b[31m", "\xff\u202e")
	f.Fuzz(func(t *testing.T, folder, id, version string) {
		j := made(6)
		j.Header.ToolVersion = version
		for i := range j.Records {
			j.Records[i].Cell.ID = id
		}
		text, families := written(t, folder, j)
		if plaintext.Clean(text) != text {
			t.Errorf("%q", text)
		}
		if n := len(families["zcbench_results_info"].GetMetric()); n != 1 || len(families["x"].GetMetric()) > 0 {
			t.Errorf("%d journals in it, %d families:\n%s", n, len(families), text)
		}
	})
}
