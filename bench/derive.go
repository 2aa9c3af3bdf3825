package bench

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/zcbench/zcbench/gate"
	"github.com/zcbench/zcbench/report"
	"github.com/zcbench/zcbench/results"
)

// Derive makes all that can be made of a folder's journal: the CSV files, the
// plots and the HTML report. It replaces what is there.
func Derive(dir string) (results.Journal, *report.Summary, error) {
	j, err := gate.Read(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return j, nil, err
	}
	if err := results.WriteCSV(dir, j.Records); err != nil {
		return j, nil, err
	}
	s, err := render(dir, j)
	return j, s, err
}

// Report is [Derive] without metrics.csv and samples.csv, which are most of a
// folder and which no report needs.
func Report(dir string) (*report.Summary, error) {
	j, err := gate.ReadFigures(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return nil, err
	}
	written := make(chan error, 1)
	go func() {
		written <- results.WriteFile(filepath.Join(dir, results.RunsFile), func(w io.Writer) error { return results.WriteRuns(w, j.Records) })
	}()
	s, err := render(dir, j)
	return s, errors.Join(<-written, err)
}

// render writes the report and the plots.
func render(dir string, j results.Journal) (*report.Summary, error) {
	s := report.Summarize(j)
	figures, err := report.Figures(s)
	if err != nil {
		return s, err
	}
	plots, err := results.Subfolder(dir, results.PlotsDir)
	if err != nil {
		return s, err
	}
	for _, f := range figures {
		if err := results.WriteFile(filepath.Join(plots, f.Name+".svg"), func(w io.Writer) error { return report.WritePlot(w, f) }); err != nil {
			return s, err
		}
	}
	return s, results.WriteFile(filepath.Join(dir, results.ReportFile), func(w io.Writer) error { return report.HTML(w, s, figures) })
}
