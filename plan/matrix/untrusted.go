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

// noteReach keeps where the file has a program make memory of a cell, and where it names a folder
// that payload is written to.
func (x *expansion) noteReach(c *plan.Cell, p product) {
	for _, name := range memoryOptions {
		if dmabuf.Runs(plan.LookupOption(name).Raw(c)) {
			noteAt(&x.spec.memoryAt, name, x, p, name)
		}
	}
	if dir := c.WritesTo(); dir != "" {
		noteAt(&x.spec.folderAt, dir, x, p, "then")
	}
}

// noteAt keeps under a key where the file says an option, if nothing is there yet.
func noteAt(all *map[string]At, key string, x *expansion, p product, option string) {
	if _, noted := (*all)[key]; noted {
		return
	}
	if *all == nil {
		*all = map[string]At{}
	}
	line, column := position(x.optionAt(p, option).GetToken())
	(*all)[key] = At{line, column}
}

// forAll are the folders that anybody may write to, which a file may name.
var forAll = []string{"/tmp", "/var/tmp"}

// PayloadFolder is a folder of the plan's that payload is written to.
type PayloadFolder struct{ Dir, Place string } // Place is in the file; "": a flag names it

// PayloadFolders lists those that are for the user to allow, or that flags name, each once.
func (s *Spec) PayloadFolders() (out []PayloadFolder) {
	for i := range s.Cells {
		dir := s.Cells[i].WritesTo()
		if dir == "" || slices.Contains(forAll, dir) {
			continue
		}
		f := PayloadFolder{Dir: dir, Place: s.fileName}
		if at, known := s.folderAt[dir]; known {
			f.Place = fmt.Sprintf("%s:%d:%d", s.fileName, at.Line, at.Column)
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// untrustedFolder does what [Spec.Untrusted] does, for folders that payload is written to.
func (s *Spec) untrustedFolder() error {
	for _, f := range s.PayloadFolders() {
		if f.Place != "" {
			at := s.folderAt[f.Dir]
			return &Error{File: s.fileName, Line: at.Line, Column: at.Column,
				Msg: fmt.Sprintf("then: payload is written to a folder that the file names: name one of %s, or %s "+
					"(--dry-run shows which)", strings.Join(forAll, ", "), trusting)}
		}
	}
	return nil
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
