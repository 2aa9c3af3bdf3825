// SPDX-License-Identifier: MIT

package results

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
)

// WriteCSV makes runs.csv, metrics.csv, samples.csv and flows.csv in the folder from the records
// of a journal, each file all or nothing. It replaces older ones.
func (f *Folder) WriteCSV(recs []Record) error {
	for _, x := range csvFiles {
		err := f.Write(x.name, func(w io.Writer) error { return x.write(w, recs) })
		if err != nil {
			return err
		}
	}
	return nil
}

// csvFiles are the CSV files of a folder.
var csvFiles = []struct {
	name  string
	write func(io.Writer, []Record) error
	has   func(*Record, *Host) bool // whether there are rows of an end
}{
	{RunsFile, WriteRuns, func(*Record, *Host) bool { return true }},
	{MetricsFile, writeMetrics, func(r *Record, h *Host) bool { return len(r.rows(h)) > 0 }},
	{SamplesFile, writeSamples, func(_ *Record, h *Host) bool { return len(h.Series) > 0 }},
	{FlowsFile, WriteFlows, func(_ *Record, h *Host) bool { return len(h.Flows) > 0 }},
}

// Rewritten is a file that [Folder.RewriteCSV] wrote, or left.
type Rewritten struct {
	Name string
	Left string // why it was left as it is; "": it was written
}

// RewriteCSV does what [Folder.WriteCSV] does with files that a run has left, but for those that
// tell of runs that the journal does not: what they say would be lost.
func (f *Folder) RewriteCSV(recs []Record) (all []Rewritten, err error) {
	for _, x := range csvFiles {
		there := map[string]bool{}
		for i := range recs {
			r := &recs[i]
			if x.has(r, &r.SUT) || x.has(r, &r.TG) {
				there[CSVText(r.RunID)] = true
			}
		}
		n, err := f.lost(x.name, there)
		if err != nil {
			return all, err
		}
		w := Rewritten{Name: x.name}
		if n > 0 {
			w.Left = fmt.Sprintf("it has rows of runs of which the journal has none (%d)", n)
		} else if err := f.Write(x.name, func(w io.Writer) error { return x.write(w, recs) }); err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

// lost counts the runs of a CSV file that is there which are not among these.
func (f *Folder) lost(name string, there map[string]bool) (n int, err error) {
	if !f.Has(name) {
		return 0, nil
	}
	file, err := f.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	r := csv.NewReader(bufio.NewReaderSize(file, 1<<16))
	r.ReuseRecord, r.FieldsPerRecord, r.LazyQuotes = true, -1, true
	head, err := r.Read()
	at := slices.Index(head, "run_id")
	if err != nil || at < 0 {
		return 0, nil // not of ours: a run that was killed, or an empty file
	}
	lost := map[string]bool{}
	for {
		row, err := r.Read()
		if err != nil {
			return len(lost), nil // its end, or what nobody can read
		}
		if at < len(row) && !there[row[at]] {
			lost[strings.Clone(row[at])] = true
		}
	}
}

// WriteRuns writes runs.csv: a header and, for every run, a row for the
// receiver and a row for the sender. An empty field was not measured.
func WriteRuns(w io.Writer, recs []Record) error {
	c := csv.NewWriter(w)
	fields := make([]string, len(columns))
	for i := range columns {
		fields[i] = columns[i].name
	}
	if err := c.Write(fields); err != nil {
		return err
	}
	for i := range recs {
		for _, e := range rowsOf(&recs[i]) {
			for k := range columns {
				fields[k] = columns[k].get(&e)
			}
			if err := c.Write(fields); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

// writeMetrics writes metrics.csv: a row for every metric of every run and host. A counter
// that moved in any of the runs has a row in all that read it, so that a table by metric has no
// holes where there is a 0; one that moved in none has no row.
func writeMetrics(w io.Writer, recs []Record) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"run_id", "host", "metric", "unit", "value", "source", "quality", "per_second",
		"per_packet"}); err != nil {
		return err
	}
	moved := movedIn(recs)
	for i := range recs {
		for _, e := range rowsOf(&recs[i]) {
			label := hostLabel(&e)
			for _, m := range append(recs[i].rows(e.host), moved.zeros(e.host)...) {
				err := c.Write([]string{CSVText(recs[i].RunID), label, CSVText(m.Name), CSVText(m.Unit),
					formatFloat(&m.Value), CSVText(m.Source), CSVText(m.Quality), formatFloat(m.PerSecond),
					formatFloat(m.PerPacket)})
				if err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

// writeSamples writes samples.csv: a row for every value of every series. t_ns
// counts from the start of the steady window.
func writeSamples(w io.Writer, recs []Record) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"run_id", "host", "metric", "unit", "t_ns", "value"}); err != nil {
		return err
	}
	for i := range recs {
		for _, e := range rowsOf(&recs[i]) {
			label := hostLabel(&e)
			for _, s := range e.host.Series {
				if err := writeSeries(c, recs[i].RunID, label, s); err != nil {
					return err
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

func writeSeries(c *csv.Writer, runID, label string, s measure.Series) error {
	fields := []string{CSVText(runID), label, CSVText(s.Name), CSVText(s.Unit), "", ""}
	for i := range min(len(s.T), len(s.V)) {
		fields[4] = strconv.FormatInt(s.T[i], 10)
		fields[5] = formatFloat(&s.V[i])
		if err := c.Write(fields); err != nil {
			return err
		}
	}
	return nil
}

func rowsOf(r *Record) [2]row {
	return [2]row{{r, ends.SUT, &r.SUT}, {r, ends.TG, &r.TG}}
}
