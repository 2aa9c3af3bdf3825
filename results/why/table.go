// SPDX-License-Identifier: MIT

package why

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Most that a terminal shows of functions, and of the parts where none differs; --json has all.
const (
	shownFunctions = 20
	shownUnsure    = 5
)

// Table writes it for a terminal: what differs beyond doubt, and what that leaves.
func (r *Result) Table(w io.Writer) error {
	for i := range r.Ends {
		if err := r.Ends[i].table(w, r); err != nil {
			return err
		}
	}
	for _, line := range r.Remarks {
		screen.Text(w, "note: ", "  ", plaintext.Line(line))
	}
	_, err := fmt.Fprintln(w)
	for _, line := range r.Method() {
		err = errors.Join(err, screen.Text(w, "", "  ", line))
	}
	return err
}

// Title names the cells that it is about.
func (r *Result) Title() string {
	if r.A.ID == r.B.ID {
		return r.A.ID
	}
	return r.B.ID + " (B) beside " + r.A.ID + " (A)"
}

// Method explains how the figures came about, a sentence or two per line.
func (r *Result) Method() []string { return MethodOf([]*Result{r}) }

// MethodOf explains the same for several results together.
func MethodOf(all []*Result) []string {
	paired, within, pairs, apart := false, false, false, false
	for _, r := range all {
		for i := range r.Ends {
			paired, apart = paired || r.Ends[i].CPU.Pairs > 0, apart || r.Ends[i].CPU.Pairs == 0
			if r.Ends[i].inTurns() {
				within = true
			} else if r.Ends[i].CPU.Pairs > 0 {
				pairs = true
			}
		}
	}
	lines := []string{"why: A, B and B-A are means, which add up: the classes to the CPU time by accounting."}
	if paired {
		line := "They cover the blocks that both have; the 95 % interval comes from the means of all their subsets"
		if pairs {
			line += ", p from ranks permuted within pairs of blocks"
		}
		lines = append(lines, line+".")
	}
	if within {
		lines = append(lines, inTurnsText)
	}
	if apart {
		lines = append(lines, "Without shared blocks: Welch's interval, p from Mann-Whitney's U.")
	}
	return append(lines, "p is corrected over classes and counters of both ends together, and over functions (Holm); "+
		"that of the CPU time is not. What is named has p below 0.05 and an interval that excludes 0 (docs/why.md).")
}

// inTurnsText is of what took turns, with enough starts.
const inTurnsText = "The two took turns: p comes from ranks permuted within starts."

// inTurns reports whether classes and counters were compared within starts. The CPU time, and few
// functions, may be where these are too many for that.
func (e *End) inTurns() bool {
	return slices.ContainsFunc(slices.Concat(e.Classes, e.Counters), func(l Line) bool { return l.InTurns() })
}

func (e *End) table(w io.Writer, r *Result) error {
	fmt.Fprintln(w)
	screen.Line(w, "why, "+e.Role.Label()+": ", "  ", plaintext.Line(r.Title()))
	screen.Line(w, "", "  ", fmt.Sprintf("busy CPU time in ns per kB (1000 bytes) of payload, by class; profiled by "+
		"%s, %d+%d runs%s", plaintext.Line(e.Event), len(e.RunsA), len(e.RunsB), levelText(&e.CPU.Shift)))
	if err := e.classTable(w); err != nil {
		return err
	}
	for _, line := range e.Sentences() {
		screen.Line(w, "", "  ", plaintext.Line(line))
	}
	if err := e.doneTable(w); err != nil {
		return err
	}
	if err := e.functionTable(w); err != nil {
		return err
	}
	return e.counterTable(w)
}

// levelText formats what the answer holds for.
func levelText(s *stat.Shift) string {
	d := stat.Difference{Level: s.Level, BootsA: s.BootsA, BootsB: s.BootsB, StartsA: s.StartsA, StartsB: s.StartsB,
		OfSessions: s.OfSessions, Pairs: s.Pairs, Between: s.Between}
	if words := compare.LevelText(&d); words != "" {
		return ", " + words
	}
	return ""
}

func (e *End) classTable(w io.Writer) error {
	t := screen.Aligned("<<<<<<<")
	t.Head("class", "A", "B", "B-A", "95 % interval", "of the difference", "p")
	row := func(name string, fields []string) { t.Row(append([]string{plaintext.Line(name)}, fields...)...) }
	row("CPU, all classes", e.CPU.Fields(true))
	shown, vague := e.Shown()
	for i := range shown {
		row("  "+shown[i].Name, shown[i].Fields(true))
	}
	if e.Explained != nil && len(shown) > 1 {
		row("explained", e.Explained.Fields())
	}
	if e.Explained != nil || len(vague) > 0 { // else it is all of it, and says nothing
		row("unexplained", e.Unexplained.Fields())
	}
	for i := range vague {
		row("  of it "+vague[i].Name, vague[i].Fields(true))
	}
	return t.Write(w)
}

// Shown selects the classes that differ beyond doubt: those that name a cause, and those that do
// not.
func (e *End) Shown() (named, vague []Line) {
	for _, c := range e.Classes {
		switch {
		case c.Differs && c.Vague:
			vague = append(vague, c)
		case c.Differs:
			named = append(named, c)
		}
	}
	return named, vague
}

// Sentences words what else there is to say about an end.
func (e *End) Sentences() (out []string) {
	if !anyDiffers(e.Classes) {
		text := "no class differs significantly"
		if e.rates.Work != "" {
			text = "no class is named, because the two did not do equal work"
		}
		if n := min(shownUnsure, len(e.Classes)); n > 0 {
			var largest []string
			for _, c := range e.Classes[:n] {
				largest = append(largest, c.Name+" "+signed(c.Diff))
			}
			text += "; the largest differences are " + strings.Join(largest, ", ")
		}
		out = append(out, text)
	}
	switch {
	case e.rates.Work != "":
	case e.CPU.Untested && len(e.CPU.Warnings) == 0:
		out = append(out, "so what makes the difference cannot be told. Whether there is one in the CPU time is "+
			"a question of its own: the verdict on ns_per_kb answers it")
	case !e.CPU.Differs:
		out = append(out, "the CPU time itself: cannot tell, which does not mean equal")
	}
	all := len(e.Classes) + len(e.Counters)
	if e.CPU.TookTurns() && e.rates.Work == "" && !e.inTurns() {
		out = append(out, fmt.Sprintf("the two took turns, but %d starts are too few to tell %d classes and counters "+
			"apart within starts, so that what starts differ by is in it: %d are enough", e.CPU.Pairs, all,
			stat.StartsFor(int(float64(all)*e.together))))
	}
	if len(e.CPU.Warnings) > 0 {
		out = append(out, strings.Join(e.CPU.Warnings, "; "))
	} else if e.Untested > 0 {
		text := fmt.Sprintf("%d of %d classes and counters were not tested: so few runs cannot tell more apart",
			e.Untested, all)
		if n, ok := stat.RunsFor(all, 0); ok {
			text += fmt.Sprintf("; %d of each can", n)
		}
		out = append(out, text)
	}
	return append(out, e.Notes...)
}

// Fields formats A, B, B-A, its interval, the share of the difference, and p where it was tested.
func (l *Line) Fields(tested bool) []string {
	interval, share, p := "-", "-", "-"
	if l.Lo != nil {
		interval = signed(*l.Lo) + ".." + signed(*l.Hi)
	}
	if l.Share != nil {
		share = strconv.Itoa(int(math.Round(100**l.Share))) + " %"
	}
	if tested && l.Testable() && !l.Untested {
		p = l.PText()
	}
	return []string{plain(l.A), plain(l.B), signed(l.Diff), interval, share, p}
}

// PText formats the corrected p.
func (l *Line) PText() string {
	if l.Adjusted < .001 {
		return "<0.001"
	}
	return strconv.FormatFloat(l.Adjusted, 'f', 3, 64)
}

func (e *End) functionTable(w io.Writer) error {
	shown := Differing(e.Functions)
	if len(shown) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := screen.Aligned("<<<<<<<<<")
	t.Head("function, own time", "A", "B", "B-A", "95 % interval", "of the difference", "p", "where", "class")
	for _, f := range shown[:min(len(shown), shownFunctions)] {
		t.Row(slices.Concat([]string{plaintext.Line(f.Name)}, f.Fields(true),
			[]string{plaintext.Line(f.Where), plaintext.Line(f.Class)})...)
	}
	err := t.Write(w)
	if n := len(shown) - shownFunctions; n > 0 {
		fmt.Fprintf(w, "and %d more (--json has all)\n", n)
	}
	return err
}

func (e *End) counterTable(w io.Writer) error {
	shown := Differing(e.Counters)
	if len(shown) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := screen.Aligned("<<<<<<<<")
	t.Head("counted", "unit", "A", "B", "B-A", "95 % interval", "B/A", "p")
	for i := range shown {
		c := &shown[i]
		t.Row(append([]string{plaintext.Line(c.Name), c.Unit}, c.CounterFields()...)...)
	}
	return t.Write(w)
}

// CounterFields formats A, B, B-A, its interval, B/A and p.
func (l *Line) CounterFields() []string {
	f := l.Fields(true)
	times := "-"
	if l.A > 0 {
		times = strconv.FormatFloat(l.B/l.A, 'f', 2, 64)
	}
	return []string{f[0], f[1], f[2], f[3], times, f[5]}
}

// Differing selects the lines that differ beyond doubt.
func Differing(lines []Line) []Line {
	return slices.DeleteFunc(slices.Clone(lines), func(l Line) bool { return !l.Differs })
}

// plain shows some four digits and never an exponent, a difference with its sign in front.
func plain(v float64) string {
	decimals := 2
	switch abs := math.Abs(v); {
	case abs < 5e-5:
		return "0"
	case abs >= 1000:
		decimals = 0
	case abs >= 100:
		decimals = 1
	case abs < .1:
		decimals = 4
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func signed(v float64) string {
	if text := plain(v); v < 0 || text == "0" {
		return text
	}
	return "+" + plain(v)
}
