// SPDX-License-Identifier: MIT

package why

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
)

// Done is what CPUs did in the time of a class, or of all: more instructions, slower ones, or such
// as wait for memory. They are means over the runs, which nobody tests: the class was chosen for
// its time. Nil: it was not counted, or there is none of the class.
type Done struct {
	Class string  `json:"class,omitempty"` // "": all
	A     Amounts `json:"a"`
	B     Amounts `json:"b"`
}

// Amounts are per kB of payload, but for instructions per cycle.
type Amounts struct {
	CyclesPerKB       *float64 `json:"cycles_per_kb,omitempty"`
	InstructionsPerKB *float64 `json:"instructions_per_kb,omitempty"`
	IPC               *float64 `json:"ipc,omitempty"`
	LLCMissesPerKB    *float64 `json:"llc_misses_per_kb,omitempty"`
}

// done lists the amounts of all classes together, then of those that lines are about; nil: neither
// cell has any.
func (s *sides) done(lines []Line) []Done {
	out := []Done{{A: s.a.amounts(""), B: s.b.amounts("")}}
	if out[0].A.CyclesPerKB == nil && out[0].B.CyclesPerKB == nil {
		return nil
	}
	for _, l := range lines {
		if d := (Done{l.Name, s.a.amounts(l.Name), s.b.amounts(l.Name)}); d.A.CyclesPerKB != nil ||
			d.B.CyclesPerKB != nil {
			out = append(out, d)
		}
	}
	return out
}

// amounts are the means over a side's runs; of a class that a run does not have, 0 is its part.
// Instructions per cycle are those of all runs together. A run in which nothing was counted makes
// them unknown.
func (s *side) amounts(class string) (out Amounts) {
	mean := func(of func(*results.ProfiledPart) *float64) *float64 {
		sum, has := 0.0, class == ""
		for _, r := range s.runs {
			if of(&r.profile.Busy) == nil {
				return nil
			}
			part := &r.profile.Busy
			if class != "" {
				i := slices.IndexFunc(r.profile.Classes, func(p results.ProfiledPart) bool { return p.Name == class })
				if i < 0 {
					continue
				}
				part, has = &r.profile.Classes[i], true
			}
			if v := of(part); v != nil && plausible(*v) {
				sum += *v
			}
		}
		if !has || len(s.runs) == 0 {
			return nil
		}
		return new(sum / float64(len(s.runs)))
	}
	out.CyclesPerKB = mean(func(p *results.ProfiledPart) *float64 { return p.CyclesPerKB })
	out.InstructionsPerKB = mean(func(p *results.ProfiledPart) *float64 { return p.InstructionsPerKB })
	out.LLCMissesPerKB = mean(func(p *results.ProfiledPart) *float64 { return p.LLCMissesPerKB })
	out.IPC = (&results.ProfiledPart{CyclesPerKB: out.CyclesPerKB, InstructionsPerKB: out.InstructionsPerKB}).IPC()
	return out
}

// DoneHeads are the headings of [Done.Fields].
var DoneHeads = []string{"class", "instructions/kB: A", "B", "per cycle: A", "B", "LLC misses/kB: A", "B"}

// Fields formats what was done, with the class in front.
func (d *Done) Fields() []string {
	name := "  " + d.Class
	if d.Class == "" {
		name = "CPU, all classes"
	}
	text := func(v *float64, ipc bool) string {
		switch {
		case v == nil:
			return "-"
		case ipc:
			return strconv.FormatFloat(*v, 'f', 2, 64)
		}
		return plain(*v)
	}
	return []string{name, text(d.A.InstructionsPerKB, false), text(d.B.InstructionsPerKB, false), text(d.A.IPC, true),
		text(d.B.IPC, true), text(d.A.LLCMissesPerKB, false), text(d.B.LLCMissesPerKB, false)}
}

func (e *End) doneTable(w io.Writer) error {
	if e.Done == nil {
		return nil
	}
	fmt.Fprintln(w)
	screen.Line(w, "", "  ", "what was done in that time (means; chosen by time, not tested)")
	t := screen.Aligned("<<<<<<<")
	t.Head(DoneHeads...)
	for i := range e.Done {
		f := e.Done[i].Fields()
		f[0] = plaintext.Line(f[0])
		t.Row(f...)
	}
	return t.Write(w)
}
