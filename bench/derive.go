// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"io"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/report"
)

// Derive does what [DeriveIn] does, in the folder that dir names now. Whoever has one open since
// its journal was made derives there: dir may be a link to another one meanwhile.
func Derive(dir string) (results.Journal, *report.Summary, error) {
	in, err := results.OpenFolder(dir)
	if err != nil {
		return results.Journal{}, nil, err
	}
	return DeriveIn(in)
}

// DeriveIn makes all that can be made of a folder's journal: the CSV files, the plots and the HTML
// report. It replaces what is there, and closes the folder. Where files cannot be written, the
// journal and its summary are returned all the same, with the errors. It is the end of runs that
// may have been interrupted, and so no signal ends it: its bounds do.
func DeriveIn(in *results.Folder) (results.Journal, *report.Summary, error) {
	defer in.Close()
	j, err := judge.Read(in)
	if err != nil {
		return j, nil, err
	}
	err = in.WriteCSV(j.Records)
	s := summarize(context.Background(), in, &j)
	return j, s, errors.Join(err, render(in, s))
}

// Report makes the plots and the HTML report of a folder's journal. It does not read the metrics
// and series, which are most of it: [RewriteCSV] does. When the context ends it leaves the files
// that are not written yet as they are.
func Report(ctx context.Context, dir string) (*report.Summary, error) {
	return ReportWith(ctx, dir, report.Exponents{})
}

// ReportWith does the same with other exponents in the charts of returns.
func ReportWith(ctx context.Context, dir string, e report.Exponents) (*report.Summary, error) {
	in, err := results.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	j, err := judge.ReadFigures(in)
	if err != nil {
		return nil, err
	}
	s := summarize(ctx, in, &j)
	s.UseExponents(e)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return s, render(in, s)
}

// RewriteCSV makes the CSV files of a folder's journal again, but for those that tell of runs which
// the journal does not have. It says what it did.
func RewriteCSV(ctx context.Context, dir string) ([]results.Rewritten, error) {
	in, err := results.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	j, err := judge.Read(in)
	if err := errors.Join(err, context.Cause(ctx)); err != nil {
		return nil, err
	}
	return in.RewriteCSV(j.Records)
}

// summarize sums up a folder: its journal, and what is beside it.
func summarize(ctx context.Context, in *results.Folder, j *results.Journal) *report.Summary {
	s := report.Summarize(*j)
	s.Environment = compare.AcrossCells(in, j)
	addFlames(ctx, in, s)
	return s
}

// render writes the report and the plots. What was refused in the folder, and is left out of them,
// is an error at their end.
func render(in *results.Folder, s *report.Summary) error {
	figures, err := report.Figures(s)
	if err != nil {
		return err
	}
	if err := in.Subfolder(results.PlotsDir); err != nil {
		return err
	}
	for _, f := range figures {
		if err := in.Write(results.PlotsDir+"/"+f.Name+".svg",
			func(w io.Writer) error { return report.WritePlot(w, f) }); err != nil {
			return err
		}
	}
	err = in.Write(results.ReportFile, func(w io.Writer) error { return report.HTML(w, s, figures) })
	if refused := in.Refused(); !errors.Is(err, refused) { // or the user reads it twice
		err = errors.Join(err, refused)
	}
	return err
}
