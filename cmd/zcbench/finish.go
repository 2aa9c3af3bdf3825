// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/screen"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

// finish derives the files, prints the answer and says how it ended: badly if a run
// failed or is invalid, or none could be made. A demo has runs that cannot be anything
// else on veth, and may be on a machine that has other work: those that were expected to be
// invalid, or spoilt, do not count there.
func finish(cmd *cobra.Command, e *bench.Experiment, recs []results.Record, runErr error, asJSON, demo bool) error {
	if runErr != nil && len(recs) == 0 {
		return folderError(runErr)
	}
	j, summary, err := derive(e.Kept, recs)
	dir := e.Dir
	printed := printShort(cmd, summary, asJSON, demo)
	if err == nil && printed == nil {
		sayFiles(cmd, dir)
	}
	if err = noRoomOr(runErr, err, printed, dir); err != nil {
		return err
	}
	o := bench.OutcomeOf(j)
	if demo {
		if o.Spoilt > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: %s\n", spoiltLine(o))
		}
		if !measured(j.Records) {
			o.Spoilt, o.Once = 0, 0 // it shows nothing
		}
		o = o.AsDemo()
	}
	if o.Good() {
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: %v; the table says why\n", o)
	return cli.Quiet(cli.Failed)
}

// measured reports whether a run counts.
func measured(recs []results.Record) bool {
	return slices.ContainsFunc(recs, func(r results.Record) bool { return r.Verdict == results.OK && !r.Warmup })
}

// spoiltLine says how many runs of a demo do not count because something else spoilt them.
func spoiltLine(o bench.Outcome) string {
	n, again := fmt.Sprintf("%d runs", o.Spoilt), " at every attempt"
	if o.Spoilt == 1 {
		n = "a run"
	}
	switch {
	case o.Once == o.Spoilt:
		again = ", and there was no repetition"
	case o.Once > 0:
		again = fmt.Sprintf(", and for %d of them there was no repetition", o.Once)
	}
	return fmt.Sprintf("other work disturbed %s%s; see the table", n, again)
}

func sayFiles(cmd *cobra.Command, dir string) {
	files := []string{results.JournalFile, results.RunsFile, results.MetricsFile, results.SamplesFile,
		results.FlowsFile}
	w := cmd.ErrOrStderr()
	fmt.Fprintln(w)
	screen.Line(w, "results: ", "  ", fmt.Sprintf("%s (%s)", dir, strings.Join(files, ", ")))
	fmt.Fprintf(w, "report:  %s\n", filepath.Join(dir, results.ReportFile))
}

// derive makes the files of a folder's journal, in the folder that has been open since. Whatever
// cannot be written, it returns all runs that were made, also those that the journal had no room
// for: hours of measuring must at least be shown.
func derive(in *results.Folder, recs []results.Record) (results.Journal, *report.Summary, error) {
	j, s, err := bench.DeriveIn(in)
	if n := len(j.Records); s == nil || withUnsaved(&j, recs) > n {
		s = report.Summarize(j)
	}
	return j, s, err
}

// withUnsaved adds the runs that a journal lacks and returns how many there are then.
func withUnsaved(j *results.Journal, recs []results.Record) int {
	saved := map[string]bool{}
	for i := range j.Records {
		saved[j.Records[i].RunID] = true
	}
	for _, r := range recs {
		if !saved[r.RunID] {
			j.Records = append(j.Records, r)
		}
	}
	return len(j.Records)
}

// noRoom adds what to do about a disk that became full.
func noRoom(err error, dir string) error {
	if dir == "" || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	how := "free space there; the runs in %s are safe, and these commands make the other files from it: " +
		"zcbench export --csv %s && zcbench report %s"
	return &fault.Error{Op: "keep the results", Err: err,
		How: fmt.Sprintf(how, filepath.Join(dir, results.JournalFile), dir, dir)}
}

// noRoomOr joins how the runs, their files and the table ended.
func noRoomOr(runErr, err, printed error, dir string) error {
	return errors.Join(noRoom(errors.Join(runErr, err), dir), printed)
}

// folderError turns what the results' folder itself refused into an outError.
func folderError(err error) error {
	if e := (*bench.FolderError)(nil); errors.As(err, &e) {
		return outError(err)
	}
	return err
}

// outError adds what to do about a folder that cannot take results.
func outError(err error) error {
	if errors.Is(err, results.ErrExists) || errors.Is(err, results.ErrLocked) {
		return cli.Usagef("--out: %w", err) // says what to do
	}
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		return cli.Usagef("--out: %w: choose a writable folder", err)
	}
	return err
}

// printShort prints the answer of several cells; the report in the folder has all of it.
func printShort(cmd *cobra.Command, s *report.Summary, asJSON, demo bool) error {
	if asJSON {
		return printSummary(cmd, s, true)
	}
	return report.Short(cmd.OutOrStdout(), s, demo)
}

func printSummary(cmd *cobra.Command, s *report.Summary, asJSON bool) error {
	if asJSON {
		return report.JSON(cmd.OutOrStdout(), s)
	}
	return report.Table(cmd.OutOrStdout(), s)
}
