// SPDX-License-Identifier: MIT

package bench

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// journalLine is the line of a real run between two namespaces, with all its metrics.
//
//go:embed testdata/run.json
var journalLine []byte

// bigJournal writes the journal of an experiment of n runs as they are: some 150
// metrics of each end and 10 s of samples, 50 kB a run.
func bigJournal(b testing.TB, cells, reps, schema int) (dir string) {
	b.Helper()
	var like results.Record
	if err := json.Unmarshal(journalLine, &like); err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, h := range []*results.Host{&like.SUT, &like.TG} {
		for i := range h.Series {
			s := &h.Series[i]
			s.T, s.V = nil, nil
			for k := range 112 {
				s.T, s.V = append(s.T, int64(k)*100_123_457-1e9), append(s.V, 20+rng.NormFloat64())
			}
		}
	}
	var planned []plan.Cell
	for i := range cells {
		c := like.Cell
		c.ID, c.MessageBytes = fmt.Sprintf("%s/%s message=%d", c.RX, c.TX, 4096*(i+1)), 4096*(i+1)
		planned = append(planned, c)
	}
	dir = b.TempDir()
	f, err := os.Create(filepath.Join(dir, results.JournalFile))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	defer w.Flush()
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	limit := .5
	enc.Encode(results.Header{Kind: "zcbench-journal", Schema: schema, SessionID: "s", Cells: planned,
		Plan: &plan.Origin{Name: "big", Gates: plan.Gates{ThroughputCV: &limit, CPUCV: &limit, Drift: &limit}}})
	details := detailsLine(b, like)
	for n, p := range matrix.Interleave(planned, reps, false, 1) {
		r := struct {
			results.Record
			Detailed bool `json:"detailed,omitempty"`
		}{Record: like}
		r.Schema = schema
		r.RunID, r.SessionID, r.Seq, r.Cell, r.Block, r.Rep = fmt.Sprintf("s-%05d", n), "s", n, p.Cell, p.Block, p.Rep
		for _, h := range []*results.Host{&r.SUT, &r.TG} {
			gbps, busy := 20+rng.NormFloat64(), .8+.01*rng.NormFloat64()
			h.ThroughputGbps, h.CPUBusyCores = &gbps, &busy
		}
		r.Warnings = []string{fmt.Sprintf("SUT: foreign load %.2f cores on CPU 1", .3*rng.Float64())}
		if schema > 2 {
			w.Write(bytes.Replace(details, []byte(like.RunID), []byte(r.RunID), 1))
			r.Detailed, r.SUT.Metrics, r.SUT.Series, r.TG.Metrics, r.TG.Series = true, nil, nil, nil, nil
		}
		if err := enc.Encode(r); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// detailsLine is the line of a record's metrics and series as a journal has it.
func detailsLine(b testing.TB, r results.Record) []byte {
	b.Helper()
	r.Schema = 0
	w, err := results.Create(filepath.Join(b.TempDir(), "one"), results.Header{})
	if err == nil {
		err = errors.Join(w.Append(r), w.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(w.Path())
	if err != nil {
		b.Fatal(err)
	}
	return bytes.SplitAfter(text, []byte("\n"))[1]
}

// cpuTime of this process, which says more than the wall clock where others work
// on the machine too.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func perCPU(b *testing.B, from time.Duration) {
	b.ReportMetric((cpuTime(b)-from).Seconds()/float64(b.N), "cpu-s/op")
}

// BenchmarkReport makes the reports of journals of 10,000 runs.
func BenchmarkReport(b *testing.B) { benchmarkReport(b, results.SchemaVersion) }

// BenchmarkReportSchema2 makes them of journals whose metrics and series are in the lines
// of the records. Nothing holds it to a limit.
func BenchmarkReportSchema2(b *testing.B) { benchmarkReport(b, 2) }

func benchmarkReport(b *testing.B, schema int) {
	for _, x := range []struct{ cells, reps int }{{100, 100}, {1000, 10}} {
		b.Run(fmt.Sprintf("cells=%d/runs=%d", x.cells, x.cells*x.reps), func(b *testing.B) {
			dir := bigJournal(b, x.cells, x.reps, schema)
			defer perCPU(b, cpuTime(b))
			for b.Loop() {
				s, err := Report(b.Context(), dir)
				if err != nil || s.Runs != x.cells*x.reps || len(s.Cells) != x.cells {
					b.Fatal(s.Runs, err)
				}
			}
		})
	}
}

// BenchmarkDerive is what export --csv and the end of a session do besides: all
// metrics and samples.
func BenchmarkDerive(b *testing.B) {
	dir := bigJournal(b, 100, 10, results.SchemaVersion)
	defer perCPU(b, cpuTime(b))
	for b.Loop() {
		if _, _, err := Derive(dir); err != nil {
			b.Fatal(err)
		}
	}
}
