// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/tune"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// Unneeded refuses the named sysctl of an end's settings if measuring does not need it; nil: it
// needs it, or no file has named it.
func (s *Settings) Unneeded(name string) error {
	v, ok := s.Sysctl[name]
	if !ok {
		return nil
	}
	return tune.ForMeasuring(name, v)
}

// PlaceOfSysctl formats where in the file a sysctl of an end stands.
func (s *Spec) PlaceOfSysctl(of *Settings, name string) string {
	at := of.sysctlAt[name]
	if at == (At{}) { // of a plan that is played again
		return s.fileName
	}
	return fmt.Sprintf("%s:%d:%d", s.fileName, at.Line, at.Column)
}

// memoryOptions are those that package dmabuf reads.
var memoryOptions = []string{"area", "tx_area"}

// MemoryProgram is a program of the plan's that makes memory for cells.
type MemoryProgram struct {
	Option  *plan.Option
	Command string // as it is started
	Place   string // in the file; "": a flag names it
}

// MemoryPrograms lists them, each once.
func (s *Spec) MemoryPrograms() (out []MemoryProgram) {
	for _, name := range memoryOptions {
		o := plan.LookupOption(name)
		for i := range s.Cells {
			area := o.Raw(&s.Cells[i])
			if !dmabuf.Runs(area) {
				continue
			}
			_, command, _ := strings.Cut(area, ":")
			p := MemoryProgram{o, command, ""}
			if at, known := s.memoryAt[name]; known {
				p.Place = fmt.Sprintf("%s:%d:%d", s.fileName, at.Line, at.Column)
			} else if s.fileName != "" { // of a plan that is played again
				p.Place = s.fileName
			}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// untrustedMemory does what [Spec.Untrusted] does, for memory that a program hands over.
func (s *Spec) untrustedMemory() error {
	for _, p := range s.MemoryPrograms() {
		if p.Place != "" {
			at := s.memoryAt[p.Option.Name]
			return &Error{File: s.fileName, Line: at.Line, Column: at.Column,
				Msg: fmt.Sprintf("%s: a program that the file names makes the memory: %s (--dry-run shows which)",
					p.Option.Name, trusting)}
		}
	}
	return nil
}

// noteMemory keeps where the file has a program make memory of a cell.
func (x *expansion) noteMemory(c *plan.Cell, p product) {
	for _, name := range memoryOptions {
		if _, noted := x.spec.memoryAt[name]; noted || !dmabuf.Runs(plan.LookupOption(name).Raw(c)) {
			continue
		}
		if x.spec.memoryAt == nil {
			x.spec.memoryAt = map[string]At{}
		}
		line, column := position(x.optionAt(p, name).GetToken())
		x.spec.memoryAt[name] = At{line, column}
	}
}

// untrustedSysctl does what [Spec.Untrusted] does, for the sysctls alone: one may switch off what
// protects a host.
func (s *Spec) untrustedSysctl() error {
	for _, x := range []struct {
		end string
		of  *Settings
	}{{"sut", &s.SUT.Settings}, {"tg", &s.TG.Settings}} {
		for _, name := range slices.Sorted(maps.Keys(x.of.Sysctl)) {
			if err := x.of.Unneeded(name); err != nil {
				at := x.of.sysctlAt[name]
				return &Error{File: s.fileName, Line: at.Line, Column: at.Column,
					Msg: fmt.Sprintf("%s.settings: %v: %s", x.end, err, trusting)}
			}
		}
	}
	return nil
}
