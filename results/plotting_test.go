// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

// toPlot is a folder of results with two cells, of runs with three flows, and a third one that has
// warm-ups alone.
func toPlot(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var recs []Record
	for i := range 12 {
		r := flowing(i, 1e9, 2e9, 3e9)
		r.Cell = plan.Cell{ID: []string{"tcp/tcp gro=on", "uring/tcp gro=off"}[i%2], RX: "tcp", TX: "tcp", Flows: 3}
		r.Verdict, r.Warmup, r.Reason, r.Warnings = OK, i < 2, "", []string{`a "quoted", word`}
		r.SUT.ThroughputGbps = ptr(100 + float64(i%2)*50 + float64(i))
		if r.Warmup {
			r.Cell.ID = "not to be counted"
		}
		for _, h := range []*Host{&r.SUT, &r.TG} {
			h.Metrics = append(h.Metrics, measure.Metric{Name: "tcp_info_rtt_us", Unit: "us", Value: 25,
				Source: "TCP_INFO"})
		}
		recs = append(recs, r)
	}
	if err := folderOf(t, dir).WriteCSV(recs); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The examples in Python work on what we write. They say a figure for each cell, and draw.
func TestPythonExamples(t *testing.T) {
	kind.Kernel(t)
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import matplotlib, pandas").Run()
	}
	if err != nil {
		t.Skipf("python3 with pandas and matplotlib is not installed (Debian: python3-pandas, python3-matplotlib): %v",
			err)
	}
	dir := toPlot(t)
	for script, figures := range map[string][]string{
		"throughput.py": {"25.0"},               // the round trip
		"flows.py":      {"sender", "5.333333"}, // what held the flows up, and what the least one got
	} {
		path, err := filepath.Abs("../docs/plotting/" + script)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, path, dir)
		cmd.Dir = t.TempDir() // the picture is drawn where it runs
		cmd.Env = append(os.Environ(), "MPLBACKEND=agg", "MPLCONFIGDIR="+cmd.Dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", script, err, out)
			continue
		}
		for _, want := range append(figures, "tcp/tcp gro=on", "uring/tcp gro=off") {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s does not say %q:\n%s", script, want, out)
			}
		}
		if strings.Contains(string(out), "not to be counted") {
			t.Errorf("%s counts warm-ups:\n%s", script, out)
		}
		png, err := os.ReadFile(filepath.Join(cmd.Dir, strings.TrimSuffix(script, ".py")+".png"))
		if err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
			t.Errorf("%s drew %d bytes, %v", script, len(png), err)
		}
	}
}

// The gnuplot example of docs/plotting works on what we write, also with commas,
// quotes and spaces in the texts.
func TestGnuplotExample(t *testing.T) {
	kind.Kernel(t)
	gnuplot, err := exec.LookPath("gnuplot")
	if err != nil {
		t.Skip("gnuplot is not installed (Debian: gnuplot-nox)")
	}
	dir := toPlot(t)
	svg := filepath.Join(dir, "plot.svg")
	cmd := exec.Command(gnuplot, "-e", fmt.Sprintf("dir='%s'; out='%s'", dir, svg), "../docs/plotting/throughput.gp")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tcp/tcp_gro=on", "uring/tcp_gro=off", "Gbit/s", "</svg>"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in the plot", want)
		}
	}
	if strings.Contains(string(b), "counted") {
		t.Error("warm-ups are in the plot")
	}
}

// The example in R works on what we write: it says a median for each cell, and draws.
func TestRExample(t *testing.T) {
	kind.Kernel(t)
	rscript, err := exec.LookPath("Rscript")
	if err != nil {
		t.Skip("Rscript is not installed (Debian: r-base-core)")
	}
	script, err := filepath.Abs("../docs/plotting/throughput.R")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(rscript, script, toPlot(t))
	cmd.Dir = t.TempDir() // the picture is drawn where it runs
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// runs 2, 4, ... 10 of the first cell, 3, 5, ... 11 of the second
	for _, want := range []string{"tcp/tcp gro=on", "106", "uring/tcp gro=off", "157"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "not to be counted") {
		t.Errorf("it counts warm-ups:\n%s", out)
	}
	svg, err := os.ReadFile(filepath.Join(cmd.Dir, "throughput.svg"))
	if err != nil || !strings.Contains(string(svg), "</svg>") {
		t.Errorf("it drew %d bytes, %v", len(svg), err)
	}
}
