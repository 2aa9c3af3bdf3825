// SPDX-License-Identifier: MIT

package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// SearchDir has the runs of a search, in the folder of its results: no comparison is made of them.
const SearchDir = "search"

// Tuning is a search with its confirmation.
type Tuning struct {
	Goal Goal
	Spec *matrix.Spec // what may be varied
	Time time.Duration
	Dir  string
	// How is the command, for the file that repeats the confirmation; Flags are what matrix needs
	// beside that file.
	How    string
	Flags  string
	Begin  bench.Policy // of both experiments: where they go on, and what the user trusts
	Resume bool
	Note   func(format string, args ...any)
	// New makes an experiment, which then is given its policy. Search: it is the search.
	New func(spec *matrix.Spec, dir string, search bool) *bench.Experiment
}

// prepare makes the search and its plan.
func (t *Tuning) prepare() (*Search, *matrix.Spec, error) {
	s, err := newSearch(t.Goal, t.Spec, t.Time, t.Note)
	if err != nil {
		return nil, nil, err
	}
	spec := *t.Spec
	spec.Name += "-search"
	// which a journal that goes on is held to
	spec.Description = fmt.Sprintf("search of zcbench tune --for %s --for-time %v", t.Goal.Name, t.Time)
	spec.Base, spec.Primary, spec.Against, spec.About, spec.Adaptive, spec.Again = nil, nil, nil, nil, nil, 0
	spec.Repetitions, spec.Warmup, spec.Rest = 1, false, new(time.Duration)
	if turn := spec.TurnLength(); turn > 0 {
		spec.Duration, spec.WarmupDuration, spec.RampUp = turnsRaced*turn, turnsTried*turn, 2*turn
	} else {
		spec.Duration = min(spec.Duration, time.Second)
		spec.WarmupDuration = spec.Duration / 2
	}
	s.plan = &spec
	if err := s.writable(); err != nil {
		return nil, nil, &InputError{err}
	}
	return s, &spec, nil
}

// Run searches, freezes the winners and confirms them.
func (t *Tuning) Run(ctx context.Context) (*Report, error) {
	s, spec, err := t.prepare()
	if err != nil {
		return nil, err
	}
	if t.Resume {
		in, err := results.OpenFolderBelow(t.Dir, SearchDir)
		if err != nil {
			return nil, err
		}
		in.Close()
	} else {
		if err := results.VacantBelow(t.Dir, "", BestFile, ReportFile); err != nil {
			return nil, &bench.FolderError{Err: err}
		}
	}
	e := t.New(spec, t.Dir, true)
	e.Below = SearchDir
	e.Policy = t.Begin
	if t.Resume {
		e.Begin = bench.Resume
	}
	err = e.PlayAsked(ctx, s)
	if e.Kept != nil {
		err = errors.Join(err, e.Kept.Close())
	}
	if err != nil {
		return nil, err
	}
	all := s.freeze()
	if len(all) == 0 {
		return nil, s.nothing()
	}
	return t.confirm(ctx, s, all)
}

// confirm plays what was found in other starts. What is played is on disk before.
func (t *Tuning) confirm(ctx context.Context, s *Search, all []frozen) (*Report, error) {
	text, cells, err := s.write(all, t.How, t.Flags)
	if err != nil {
		return nil, err
	}
	spec, err := s.parse(filepath.Join(t.Dir, BestFile), text, cells)
	if err != nil {
		return nil, err
	}
	if err := t.keep(text); err != nil {
		return nil, err
	}
	for i := range all {
		how := "the defaults are the best that was found"
		if words := all[i].words(all[i].arm); words != nil {
			how = "the best that was found has " + strings.Join(words, " ")
		}
		t.Note("%s: %s", all[i].Name, how)
	}
	t.Note("the winners are in %s; now each is run beside its defaults, in %d other starts",
		filepath.Join(t.Dir, BestFile), spec.Repetitions)
	e := t.New(spec, t.Dir, false)
	e.Policy = t.Begin
	e.StartsAnew = true
	if _, err := os.Stat(filepath.Join(t.Dir, results.JournalFile)); t.Resume && err == nil {
		e.Begin = bench.Resume
	}
	_, err = e.Run(ctx)
	if e.Kept == nil {
		return nil, err
	}
	j, _, derr := bench.DeriveIn(e.Kept)
	if err = errors.Join(err, derr); err != nil {
		return nil, err
	}
	r := s.report(all, spec.Cells, j.Records)
	return r, t.write(ReportFile, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	})
}

// keep writes the experiment that confirms. One that is there already is to be the same: the search
// goes the same way again.
func (t *Tuning) keep(text string) error {
	was, err := t.read(BestFile, len(text)+1)
	switch {
	case err == nil && t.Resume && !bytes.Equal(was, []byte(text)):
		return fmt.Errorf("%s was written when the search ended, and is not what its journal leads to now: start over "+
			"in another --out", filepath.Join(t.Dir, BestFile))
	case err == nil && t.Resume:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return t.write(BestFile, writeText(text))
}

// read reads a file of the results folder, but no more than so many bytes.
func (t *Tuning) read(name string, most int) ([]byte, error) {
	in, err := results.OpenFolder(t.Dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := in.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(most)))
}

// write writes a file of the results folder.
func (t *Tuning) write(name string, write func(io.Writer) error) error {
	in, err := results.OpenFolder(t.Dir)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.Write(name, write)
}

// DryRun writes what Run would try, and how long it takes. It changes nothing on the hosts.
func (t *Tuning) DryRun(ctx context.Context, w io.Writer) error {
	s, spec, err := t.prepare()
	if err != nil {
		return err
	}
	e := t.New(spec, "", true)
	e.Policy = t.Begin
	return e.LookAround(ctx, w, func(h *bench.Found) error {
		if err := s.Begin(h); err != nil {
			return err
		}
		return s.preview(w)
	})
}
