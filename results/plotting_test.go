// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The gnuplot example of docs/plotting works on what we write, also with commas,
// quotes and spaces in the texts.
func TestGnuplotExample(t *testing.T) {
	gnuplot, err := exec.LookPath("gnuplot")
	if err != nil {
		t.Skip("gnuplot is not installed (Debian: gnuplot-nox)")
	}
	dir := t.TempDir()
	var recs []Record
	for i := range 12 {
		r := sample(i)
		r.Cell = Cell{ID: []string{"tcp/tcp gro=on", "uring/tcp gro=off"}[i%2], RX: "tcp", TX: "tcp"}
		r.Verdict, r.Warmup, r.Reason, r.Warnings = OK, i < 2, "", []string{`a "quoted", word`}
		r.SUT.ThroughputGbps = ptr(100 + float64(i%2)*50 + float64(i))
		recs = append(recs, r)
	}
	if err := WriteCSV(dir, recs); err != nil {
		t.Fatal(err)
	}
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
}
