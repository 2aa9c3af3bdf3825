// SPDX-License-Identifier: MIT

package judge

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/plantest"
)

// FuzzCompare compares a journal that has a line of anybody's in place of one with a sound one, and
// its cells with each other.
func FuzzCompare(f *testing.F) {
	made := plantest.Journal(1, 6, plantest.Cell{Cell: plantest.Modes("tcp", "tcp"), Gbps: 40, Cores: 1, TGCores: 1,
		CV: .01},
		plantest.Cell{Cell: plantest.Modes("uring", "tcp"), Gbps: 50, Cores: 1, CV: .02})
	var lines [][]byte
	add := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		lines = append(lines, b)
	}
	add(made.Header)
	for _, r := range made.Records {
		add(r)
	}
	f.Add(0, lines[0])
	f.Add(3, lines[3])
	f.Add(5, bytes.ReplaceAll(lines[5], []byte(`"throughput_gbps":`), []byte(`"throughput_gbps":1e308,"x":`)))
	good := compare.NewSet("good", made)
	f.Fuzz(func(t *testing.T, at int, line []byte) {
		frugal.Do(t, func() {
			if at < 0 || at >= len(lines) {
				return
			}
			text := bytes.Join(append(append(append([][]byte{}, lines[:at]...), line), lines[at+1:]...), []byte("\n"))
			j, err := results.Decode(bytes.NewReader(text))
			if err != nil {
				return
			}
			Apply(&j)
			set := compare.NewSet("any", j)
			metrics, err := compare.Lookup(compare.DefaultMetrics)
			if err != nil {
				t.Fatal(err)
			}
			for _, compare := range []func() (*compare.Result, error){
				func() (*compare.Result, error) { return compare.Compare(&good, &set, metrics) },
				func() (*compare.Result, error) { return compare.Within(&set, made.Header.Cells[0], metrics) },
			} {
				r, err := compare()
				if err != nil {
					if said := err.Error(); plaintext.Line(said) != said {
						t.Fatalf("%+q", said)
					}
					continue
				}
				var b bytes.Buffer
				if err := json.NewEncoder(&b).Encode(r); err != nil { // compare --json
					t.Fatal(err)
				}
				if err := r.Table(&b); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}
