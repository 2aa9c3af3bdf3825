// SPDX-License-Identifier: MIT

package judge

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// FuzzReport sums up a journal that has a line of anybody's in place of one: of the header, or of a
// run. Nothing panics, and what is printed is plain text.
func FuzzReport(f *testing.F) {
	made := plantest.Journal(1, 6, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 40, Cores: 1, TGCores: 1,
		Watts: 90, CV: .01},
		plantest.Cell{Cell: plantest.Modes("uring", "tcp"), Gbps: 50, Cores: 1, Watts: 80, CV: .02})
	lines := [][]byte{mustLine(f, made.Header)}
	for _, r := range made.Records {
		lines = append(lines, mustLine(f, r))
	}
	f.Add(0, lines[0])
	f.Add(3, lines[3])
	f.Add(3, bytes.ReplaceAll(lines[3], []byte(`"throughput_gbps":`), []byte(`"throughput_gbps":1e308,"x":`)))
	f.Add(4, bytes.ReplaceAll(lines[4], []byte(`"rx_mode":"`), []byte(`"rx_mode":"\u001b=`)))
	f.Fuzz(func(t *testing.T, at int, line []byte) {
		frugal.Do(t, func() {
			if at < 0 || at >= len(lines) {
				return
			}
			text := bytes.Clone(bytes.Join(append(append(append([][]byte{}, lines[:at]...), line), lines[at+1:]...),
				[]byte("\n")))
			j, err := results.Decode(bytes.NewReader(text))
			if err != nil {
				return
			}
			Apply(&j)
			s := report.Summarize(j)
			var b bytes.Buffer
			if err := report.Table(&b, s); err != nil {
				t.Fatal(err)
			}
			if got := b.String(); plaintext.Clean(got) != got {
				t.Fatalf("%+q", got)
			}
			figures, err := report.Figures(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range figures {
				if err := report.WritePlot(io.Discard, x); err != nil {
					t.Fatal(err)
				}
			}
			if err := report.HTML(io.Discard, s, figures); err != nil {
				t.Fatal(err)
			}
			if err := report.JSON(io.Discard, s); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func mustLine(f *testing.F, v any) []byte {
	f.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		f.Fatal(err)
	}
	return b
}
