// SPDX-License-Identifier: MIT

package results

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
)

// WriteCSV makes runs.csv, metrics.csv, samples.csv and flows.csv in the folder from the records
// of a journal, each file all or nothing. It replaces older ones.
func (f *Folder) WriteCSV(recs []Record) error {
	files := []struct {
		name  string
		write func(io.Writer, []Record) error
	}{
		{RunsFile, WriteRuns},
		{MetricsFile, writeMetrics},
		{SamplesFile, writeSamples},
		{FlowsFile, WriteFlows},
	}
	for _, x := range files {
		err := f.Write(x.name, func(w io.Writer) error { return x.write(w, recs) })
		if err != nil {
			return err
		}
	}
	return nil
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
