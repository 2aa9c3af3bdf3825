// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/why"
)

// whyFlags are the flags of `zcbench compare` that ask what makes the difference.
type whyFlags struct {
	asked bool
	flame string
	end   string
}

func (f *whyFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.asked, "why", false, "explain the difference in CPU time by classes of work, functions and "+
		"counters (needs runs with --probe profile)")
	fs.StringVar(&f.flame, "flame", "",
		"with --why and two cells: write a differential flame graph to this file, NAME.html")
	fs.StringVar(&f.end, "end", "", "with --flame: which end to draw (default: the one whose options differ)")
}

func (f *whyFlags) check() error {
	switch {
	case !f.asked && (f.flame != "" || f.end != ""):
		return errors.New("--flame and --end need --why")
	case f.end != "" && f.flame == "":
		return errors.New("--end needs --flame: --why covers every end that was profiled")
	case f.end != "" && !slices.Contains(ends.Roles[:], ends.Role(f.end)):
		return fmt.Errorf("--end %q: must be sut or tg", f.end)
	}
	return nil
}

// load reads a source, as much of it as is asked for.
func (f *whyFlags) load(source string) (compare.Set, error) {
	if f.asked {
		return compare.Load(source, judge.Read)
	}
	return compare.Load(source, judge.ReadFigures)
}

// explained is a couple of cells with what makes the difference.
type explained struct {
	couple *compare.Couple
	*why.Result
}

// explain asks of every couple of the comparisons. Couples without profiles are named, where there
// are others; it is an error where there are none.
func (f *whyFlags) explain(cmd *cobra.Command, all []*compare.Result) (out [][]explained, err error) {
	if !f.asked {
		return make([][]explained, len(all)), nil
	}
	n := 0
	var lacking []error
	for _, r := range all {
		var of []explained
		couples := r.Couples()
		for i := range couples {
			w, err := why.Explain(&couples[i], true)
			if err != nil {
				lacking = append(lacking, err)
				continue
			}
			of = append(of, explained{&couples[i], w})
		}
		n += len(of)
		out = append(out, of)
	}
	switch {
	case n == 0 && len(lacking) > 0:
		return nil, fmt.Errorf("--why: %w", lacking[0])
	case n == 0:
		return nil, errors.New("--why: no pair of cells to compare")
	case f.flame != "" && n > 1:
		return nil, fmt.Errorf("--flame draws one pair of cells, and there are %d pairs: name two cells, such as "+
			"DIR@rx=tcp DIR@rx=zcrx", n)
	}
	if f.flame != "" {
		if _, err := f.endOf(slices.Concat(out...)[0]); err != nil {
			return nil, err
		}
	}
	for _, err := range lacking {
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: --why: %v\n", err)
	}
	return out, nil
}

// draw writes the differential flame graph of the one couple that there is.
func (f *whyFlags) draw(cmd *cobra.Command, all [][]explained) error {
	if f.flame == "" {
		return nil
	}
	x := slices.Concat(all...)[0]
	end, err := f.endOf(x)
	if err != nil {
		return err
	}
	d, lacking, err := addSides(cmd.Context(), x, end, bench.NewProfileReader())
	if err != nil {
		return err
	}
	if lacking > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: --flame: %d runs have no profile in %s: they are left out\n", lacking,
			results.ProfilesDir)
	}
	title := fmt.Sprintf("%s, %s", x.Title(), end.Role.Label())
	inA, inB := d.Runs()
	notes := []string{fmt.Sprintf("means of %d+%d runs, each by its own payload; profiled by %s", inA, inB, end.Event)}
	notes = append(notes, x.Remarks...)
	if err := results.WriteFile(f.flame, func(w io.Writer) error { return d.Flame(w, title, notes) }); err != nil {
		return fmt.Errorf("--flame: %w", err)
	}
	return nil
}

// endOf finds the end that is asked for, or that the comparison is about.
func (f *whyFlags) endOf(x explained) (*why.End, error) {
	wanted := x.couple.Ends()
	if f.end != "" {
		wanted = []ends.Role{ends.Role(f.end)}
	}
	for _, role := range wanted {
		for i := range x.Ends {
			if x.Ends[i].Role == role {
				return &x.Ends[i], nil
			}
		}
	}
	if f.end != "" {
		return nil, fmt.Errorf("--end %s: that end has no profiles in both cells", f.end)
	}
	return &x.Ends[0], nil
}

// addSides adds up the profiles of an end's runs, each side's, as far as they may be read, and
// counts the runs that have none.
func addSides(ctx context.Context, x explained, end *why.End, kept *bench.ProfileReader) (d *profile.Delta, lacking int,
	err error) {
	d = profile.NewDelta()
	for side, of := range []struct {
		dir  string
		runs []*results.Record
	}{{x.couple.DirA, end.RunsA}, {x.couple.DirB, end.RunsB}} {
		in, err := results.OpenFolder(of.dir)
		if err != nil {
			return nil, 0, fmt.Errorf("--flame: %w", err)
		}
		defer in.Close()
		n := 0
		for _, r := range of.runs {
			err := addKept(ctx, d, side, in, r, end.Role, kept)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				lacking++
			case errors.Is(err, bench.ErrProfileBound):
				return nil, 0, cli.Usagef("--flame: %w: a graph holds at most %s: compare folders with fewer runs", err,
					bench.ProfileBounds())
			case err != nil:
				return nil, 0, fmt.Errorf("--flame: %w", err)
			default:
				n++
			}
		}
		if n == 0 {
			return nil, 0, cli.Usagef("--flame: %s has none of the profiles of %s: it was copied without %s", of.dir,
				[]string{x.A.ID, x.B.ID}[side], results.ProfilesDir)
		}
	}
	return d, lacking, nil
}

// addKept adds the profile that a results folder keeps of a run's end.
func addKept(ctx context.Context, d *profile.Delta, side int, in *results.Folder, r *results.Record, role ends.Role,
	kept *bench.ProfileReader) error {
	p, err := kept.Read(ctx, in, r.RunID, role)
	if err != nil {
		return err
	}
	kb := 0.0
	if bytes := r.Host(role).Bytes; bytes != nil {
		kb = float64(*bytes) / 1000
	}
	if err := d.Add(ctx, side, p, kb); err != nil {
		return fmt.Errorf("the profile of %s: %w", r.RunID, err)
	}
	return nil
}
