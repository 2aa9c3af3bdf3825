// SPDX-License-Identifier: MIT

package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/elements"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// maxElements is how many elements the lists of a file may have, all together.
const maxElements = 2*maxFacts + maxCells*(2*maxSettings+maxFlags+2*maxFigures+1)

// Parse reads a file, which anybody may have written: strictly, and no more than [Of] can make.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the file is longer than %d bytes", MaxBytes)
	}
	if _, err := elements.Count(text, elements.Bounds{Elements: maxElements}); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	f := new(File)
	if err := dec.Decode(f); err != nil {
		return nil, notJSON(err)
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return nil, errors.New("data after the end")
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if !bytes.Equal(bytes.TrimSpace(f.Encode()), bytes.TrimSpace(text)) {
		// Among what a decoder forgives: a key twice, a key in capitals, a list that is null.
		return nil, errors.New("it is not as zcbench share writes it: hand in the file unchanged")
	}
	return f, nil
}

func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	text := plaintext.Line(strings.TrimPrefix(err.Error(), "json: "))
	return errors.New(text[:min(len(text), 200)])
}

// check refuses what no file of ours has.
func (f *File) check() error {
	switch {
	case f.Format != Format:
		return fmt.Errorf("not a file of zcbench share: format %.40q, want %q", f.Format, Format)
	case f.Schema != Schema:
		return fmt.Errorf("schema %d, but this zcbench reads %d", f.Schema, Schema)
	case !fits("tool", f.Tool):
		return fmt.Errorf("tool_version %.80q", f.Tool)
	case len(f.Cells) > maxCells || f.LeftOut < 0 || f.LeftOut > 1<<20 || f.LeftOut > 0 && len(f.Cells) < maxCells:
		return fmt.Errorf("%d cells, and %d left out", len(f.Cells), f.LeftOut)
	}
	if at, err := time.Parse(time.DateOnly, f.Date); err != nil || at.Format(time.DateOnly) != f.Date {
		return fmt.Errorf("date %.40q, want one such as 2026-11-29", f.Date)
	}
	if err := checkHost(f.SUT); err != nil {
		return fmt.Errorf("sut: %w", err)
	}
	if err := checkHost(f.TG); err != nil {
		return fmt.Errorf("tg: %w", err)
	}
	for i := range f.Cells {
		if err := f.Cells[i].check(); err != nil {
			return fmt.Errorf("cell %d: %w", i+1, err)
		}
	}
	return nil
}

func checkHost(host []Fact) error {
	if len(host) > maxFacts {
		return fmt.Errorf("%d facts, more than %d", len(host), maxFacts)
	}
	before := ""
	for _, x := range host {
		switch {
		case !mayTell(x.Name) || !fits("", x.Name):
			return fmt.Errorf("%.80q is not a fact that is shared", x.Name)
		case x.Name <= before:
			return fmt.Errorf("%.80q does not come after %.80q", x.Name, before)
		case !fits(x.Name, x.Value):
			return fmt.Errorf("%s: %.80q is not a value, or tells whose host it is", x.Name, x.Value)
		}
		before = x.Name
	}
	return nil
}

func (c *Cell) check() error {
	if err := c.checkSettings(); err != nil {
		return err
	}
	r := c.Runs
	for _, n := range []int{r.OK, r.Invalid, r.Failed, r.Unsupported, r.Expected} {
		if n < 0 || n > 1<<20 {
			return errors.New("a number of runs that nobody makes")
		}
	}
	if r.Expected > r.Invalid {
		return errors.New("more runs are expected to be invalid than are")
	}
	if c.HeldBy != "" && !knownLimit(c.HeldBy) {
		return fmt.Errorf("held_by %.40q", c.HeldBy)
	}
	if err := checkFlags(c.Flags); err != nil {
		return err
	}
	for _, x := range []struct {
		name string
		end  *End
	}{{"sut", &c.SUT}, {"tg", &c.TG}} {
		if err := x.end.check(r.OK); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

// checkSettings refuses what no cell has: each value is read as that of an experiment file is.
func (c *Cell) checkSettings() error {
	var cell plan.Cell
	at := -1
	for _, x := range c.Settings {
		i := slices.IndexFunc(plan.Options, func(o plan.Option) bool { return o.Name == x.Name })
		if i < 0 || !shared[x.Name] {
			return fmt.Errorf("%.80q is not a setting that is shared", x.Name)
		}
		o := &plan.Options[i]
		switch {
		case i <= at:
			return fmt.Errorf("the setting %s is out of place", x.Name)
		case len(x.Value) > maxText:
			return fmt.Errorf("%s: too long", x.Name)
		}
		v := x.Value
		if somewhere := plan.ThenWrite("/"); v == wordOf(x.Name, somewhere) {
			v = somewhere
		}
		if err := o.Load(&cell, v); err != nil || wordOf(x.Name, o.Raw(&cell)) != x.Value || !fits(x.Name, x.Value) {
			return fmt.Errorf("%s: %.80q is not one of its values", x.Name, x.Value)
		}
		at = i
	}
	if err := checkModes(&cell, c.Runs.OK > 0); err != nil {
		return err
	}
	at = -1
	for _, name := range c.NotTold {
		i := slices.IndexFunc(plan.Options, func(o plan.Option) bool { return o.Name == name })
		if i <= at {
			return fmt.Errorf("not_told: %.80q is no setting, or out of place", name)
		}
		at = i
	}
	return nil
}

// checkModes refuses modes that there are not. A cell that cannot run whatever the other end does
// has the mode that cannot alone.
func checkModes(c *plan.Cell, ran bool) error {
	if c.RX == "" && c.TX == "" {
		return errors.New("it names no mode")
	}
	for _, x := range []struct {
		role stream.Role
		name string
	}{{stream.RX, c.RX}, {stream.TX, c.TX}} {
		if x.name == "" && !ran {
			continue
		}
		if _, err := modes.Find(x.role, x.name); err != nil {
			return err
		}
	}
	return nil
}

func checkFlags(flags []string) error {
	at := -1
	for _, flag := range flags {
		i := slices.IndexFunc(results.Marks, func(m results.Mark) bool { return m.Flag == flag })
		if i <= at || len(flags) > maxFlags {
			return fmt.Errorf("the flag %.40q is not known, or out of place", flag)
		}
		at = i
	}
	return nil
}

// check refuses an end that n runs cannot have.
func (e *End) check(n int) error {
	at := -1
	for i := range e.Figures {
		x := &e.Figures[i]
		k := slices.IndexFunc(figures, func(o shareable) bool { return o.name == x.Name })
		switch {
		case k <= at:
			return fmt.Errorf("the figure %.40q is not known, or out of place", x.Name)
		case figures[k].unit != x.Unit:
			return fmt.Errorf("%s in %.40q, want %s", x.Name, x.Unit, figures[k].unit)
		case x.N < 1 || x.N > n:
			return fmt.Errorf("%s of %d runs, but %d count", x.Name, x.N, n)
		case (x.Lo == nil) != (x.Hi == nil):
			return fmt.Errorf("%s has half an interval", x.Name)
		}
		within := []Number{x.Min, x.Median, x.Max}
		if x.Lo != nil {
			within = []Number{x.Min, *x.Lo, x.Median, *x.Hi, x.Max}
		}
		for i, v := range within {
			if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 1e15 || i > 0 && v < within[i-1] {
				return fmt.Errorf("%s: its figures are not in order", x.Name)
			}
		}
		at = k
	}
	if p := e.Proof; p != nil && p.ZeroCopy == 0 && p.Copied == 0 && (p.Linear == nil || *p.Linear == 0) {
		return errors.New("a proof of nothing")
	}
	return nil
}
