// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
)

// powerPrograms lists the programs that power sources start: the file's in full, because who runs
// it must read them; those of flags as results name them, because who gives them knows, and screens
// are seen by others.
func (p preview) powerPrograms() []string {
	if len(p.spec.Power.Sources) > 0 { // then --power was not given
		return p.reaches("power: ", power.Runs)
	}
	var lines []string
	for _, s := range p.power.Sources {
		for _, r := range s.Reaches() {
			switch {
			case r.Does != power.Runs:
			case s.Name == "command":
				lines = append(lines, "power: "+s.Public()+", with the arguments that --power gives")
			default:
				lines = append(lines, "power: "+r.What)
			}
		}
	}
	return lines
}

// memoryPrograms lists the programs that make memory for cells.
func (p preview) memoryPrograms() (lines []string) {
	for _, m := range p.spec.MemoryPrograms() {
		end := ends.SUT
		if m.Option.Role == stream.TX {
			end = ends.TG
		}
		line := fmt.Sprintf("memory: %s: %s", end.Label(), plaintext.Line(m.Command))
		if m.Place != "" {
			line += p.takes(m.Place)
		}
		lines = append(lines, line)
	}
	return lines
}

// reached prints where else the file's power sources lead, and to which folders payload is written,
// and what it takes to run them.
func (p preview) reached(w io.Writer) {
	for i, f := range p.spec.PayloadFolders() {
		if i == 0 {
			fmt.Fprintln(w, "\nfolders that payload is written to")
		}
		line := fmt.Sprintf("%s: %s", ends.SUT.Label(), plaintext.Line(f.Dir))
		if f.Place != "" {
			line += p.takes(f.Place)
		}
		fmt.Fprintln(w, "  "+line)
	}
	if lines := p.reaches("", power.Asks, power.Opens); len(lines) > 0 {
		fmt.Fprintf(w, "\naddresses and paths used to read power\n  %s\n", strings.Join(lines, "\n  "))
	}
	if p.spec.Untrusted() != nil && !p.trusted {
		fmt.Fprintln(w, "\nrunning this needs --trust-file, because the file names what is marked so")
	}
}

// takes notes that the user must vouch for what stands at a place in the file.
func (p preview) takes(place string) string {
	if p.trusted {
		return fmt.Sprintf("   (%s, allowed by --trust-file)", place)
	}
	return fmt.Sprintf("   (%s, needs --trust-file)", place)
}

// word notes what is needed where the file has a program lead to a host.
func (p preview) word(e matrix.End) string {
	if !e.RunsProgram() {
		return ""
	}
	return p.takes(p.spec.PlaceOfHost(e))
}

// wordOfSysctl notes what is needed to set a sysctl that measuring does not need.
func (p preview) wordOfSysctl(of *matrix.Settings, setting string) string {
	name, ok := strings.CutPrefix(setting, "sysctl ")
	if !ok || of.Unneeded(name) == nil {
		return ""
	}
	return p.takes(p.spec.PlaceOfSysctl(of, name))
}

// reaches lists, a line each, what the file's power sources do of some deeds.
func (p preview) reaches(prefix string, deeds ...power.Deed) []string {
	var lines []string
	for _, s := range p.spec.Power.Sources {
		for _, r := range s.Reaches() {
			for _, d := range deeds {
				if r.Does == d {
					lines = append(lines, prefix+of(s.Spec.Host, r)+p.takes(p.spec.Place(s)))
				}
			}
		}
	}
	return lines
}

// of describes what is done, and for which host if not for both.
func of(role ends.Role, r power.Reach) string {
	text := r.String()
	if r.Does == power.Runs {
		text = r.What
	}
	if role != "" {
		text = role.Label() + ": " + text
	}
	return text
}
