// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// Commands that show what did not run here.
const (
	LabDemo = "zcbench lab demo"       // the modes that take a NIC of their own kind: zcrx, devmem, tcp-mmap
	labAll  = "zcbench lab demo --all" // every TCP mode, on the lab's kernels
)

// LabEnv is the variable that the lab's guest has (lab/guest.Env, which is not for this package).
const LabEnv = "ZCBENCH_LAB"

// copiedLimit is how much a zero-copy mode may copy, in percent, before a sentence calls it
// copying.
const copiedLimit = 1

// proofs writes whether the counted runs of modes that claim zero copy were zero-copy.
func (w *writer) proofs() {
	worst := map[Kind]map[string]float64{Proved: {}, Copied: {}}
	untold := map[string]float64{}
	in := map[Kind]map[string][]string{Proved: {}, Copied: {}} // cells
	s := map[Kind]*Sentence{Proved: {Section: Shown, Kind: Proved}, Copied: {Section: Shown, Kind: Copied}}
	var names [2][]string
	for _, p := range w.Proofs {
		m, err := modes.Find(p.Role, p.Cell.Mode(p.Role))
		if err != nil || !m.Has(stream.ZeroCopy) {
			continue
		}
		k, i := Proved, 0
		if p.Copied > copiedLimit {
			k, i = Copied, 1
		}
		name := ofRole(p.Role) + " " + m.Name
		if !slices.Contains(names[i], name) {
			names[i] = append(names[i], name)
		}
		in[k][name] = append(in[k][name], p.Cell.ID)
		worst[k][name] = max(worst[k][name], p.Copied)
		untold[name] = max(untold[name], p.Untold)
		s[k].Cells = append(s[k].Cells, p.Cell.ID)
		s[k].StandsOn = append(s[k].StandsOn,
			verdict{Cell: p.Cell.ID, Verdict: fmt.Sprintf("%s: %s of the payload copied", name, shareText(p.Copied))})
	}
	for i, k := range []Kind{Proved, Copied} {
		if names[i] == nil {
			continue
		}
		var told []string
		for _, name := range names[i] {
			text := name
			if slices.Contains(names[1-i], name) { // only some cells with it are
				text += " in " + few(in[k][name])
			}
			told = append(told, fmt.Sprintf("%s (%s copied%s)", text, shareText(worst[k][name]),
				untoldText(untold[name])))
		}
		s[k].Text = "Zero copy, by the kernel's own count of bytes: " + few(told) + "."
		if k == Copied {
			s[k].Text = "Not zero copy here, though the mode claims it: " + few(told) +
				". These runs show how fast it is when it copies."
		}
		w.say(*s[k])
	}
}

// untoldText qualifies a share where the kernel does not tell of all payload.
func untoldText(percent float64) string {
	if percent == 0 {
		return ""
	}
	return fmt.Sprintf("; of up to %s the kernel does not tell", shareText(percent))
}

func ofRole(role stream.Role) string {
	if role == stream.RX {
		return "receiver"
	}
	return "sender"
}

// shareText never rounds a little to nothing, nor almost all to all.
func shareText(percent float64) string {
	switch {
	case percent == 0 || percent == 100:
		return fmt.Sprintf("%.0f %%", percent)
	case percent < .1:
		return "less than 0.1 %"
	case percent > 99.9:
		return "more than 99.9 %"
	}
	return fmt.Sprintf("%.1f %%", percent)
}

// absent lists the cells that have no number, and where they would have one.
func (w *writer) absent() {
	numbers := slices.ContainsFunc(w.Set.Cells, func(c compare.Cell) bool { return len(c.Runs) > 0 })
	silent := map[string]bool{}
	for i := range w.Set.Cells {
		if c := &w.Set.Cells[i]; len(c.Runs) == 0 && c.Cell.Control == "" {
			silent[c.Cell.ID] = true
		}
	}
	stops := slices.Clone(w.Stops)
	for i := range stops {
		stops[i].Cells = slices.DeleteFunc(slices.Clone(stops[i].Cells), func(id string) bool { return !silent[id] })
	}
	stops = slices.DeleteFunc(stops, func(s Stop) bool { return len(s.Cells) == 0 })
	if !numbers && len(w.Set.Cells) > 0 {
		w.nothing(stops)
	}
	w.unsupported(stops)
	gave, told := w.ran(silent), map[string]bool{}
	for _, k := range []struct {
		verdict results.Verdict
		kind    Kind
	}{{results.Invalid, invalid}, {results.Failed, failed}} {
		for _, stop := range stops {
			if stop.Verdict != k.verdict || !slices.ContainsFunc(stop.Cells,
				func(id string) bool { return !told[id] }) {
				continue // one reason will do
			}
			for _, id := range stop.Cells {
				told[id] = true
			}
			w.gone(stop, k.kind, gave)
		}
	}
	w.never(silent, stops)
}

// never names the cells that no reason is about: nobody made a run of them.
func (w *writer) never(silent map[string]bool, stops []Stop) {
	s := Sentence{Section: Absent, Kind: NotRun}
	for i := range w.Set.Cells {
		id := w.Set.Cells[i].Cell.ID
		if silent[id] && !slices.ContainsFunc(stops, func(s Stop) bool { return slices.Contains(s.Cells, id) }) {
			s.Cells = append(s.Cells, id)
			s.StandsOn = append(s.StandsOn, verdict{Cell: id, Verdict: "no run but warm-ups"})
		}
	}
	if s.Cells == nil {
		return
	}
	s.Text = fmt.Sprintf("Planned but not run, except perhaps as warm-ups: %s.", few(s.Cells))
	w.say(s)
}

// gone writes that runs of a mode, or of some cells, came to nothing.
func (w *writer) gone(stop Stop, kind Kind, gave map[end]bool) {
	s := Sentence{Section: Absent, Kind: kind, Cells: stop.Cells, StandsOn: ofStop(stop)}
	name := few(stop.Cells)
	role, mode := w.common(stop, gave)
	if mode != "" {
		name = upper(ofRole(role)) + " " + mode
	}
	is := "is"
	switch {
	case kind == failed:
		is = ""
	case mode == "" && len(stop.Cells) > 1:
		is = "are"
	}
	s.Text = strings.Join(strings.Fields(fmt.Sprintf("%s %s %s: %s.", name, is, kind,
		strings.TrimSuffix(cmp.Or(stop.Reason, "no reason given"), "."))), " ")
	if m, err := modes.Find(role, mode); err == nil && m.Has(stream.CopiedHere) && ShownBy(role, mode) != "" {
		s.Command = ShownBy(role, mode)
		s.Text += fmt.Sprintf(" %s shows it, with proof.", s.Command)
	}
	w.say(s)
}

// common finds the one mode that all cells of a reason have in common, that gave no number with
// anything, and that the reason names; "": there is none. Other work on the hosts may spoil all
// runs of a mode, which is not the mode's fault.
func (w *writer) common(stop Stop, gave map[end]bool) (role stream.Role, mode string) {
	of := setOf(stop.Cells)
	for _, r := range []stream.Role{stream.RX, stream.TX} {
		modes := map[string]bool{}
		for i := range w.Set.Cells {
			if c := &w.Set.Cells[i].Cell; of[c.ID] {
				modes[c.Mode(r)] = true
			}
		}
		for m := range modes {
			if len(modes) == 1 && m != "" && !gave[end{r, m}] && names(stop.Reason, m) {
				return r, m
			}
		}
	}
	return "", ""
}

// names reports whether a text has a mode's name as a word.
func names(text, mode string) bool {
	return slices.ContainsFunc(strings.Fields(text),
		func(word string) bool { return strings.Trim(word, ".,;:()") == mode })
}

// nothing writes that no run counts at all.
func (w *writer) nothing(stops []Stop) {
	s := Sentence{Section: Shown, Kind: Nothing,
		Text: "Nothing: no run gave a number that counts, so nothing is known about any mode."}
	if foundOut(w.Set.Cells, w.Stops) {
		stops = w.Stops
		s.Text = "The negative control was found out, as intended: a run that is copied does not pass for zero " +
			"copy. Nothing else was run."
	}
	for _, stop := range stops {
		s.StandsOn = append(s.StandsOn, ofStop(stop)...)
	}
	told := map[string]bool{}
	for _, v := range s.StandsOn {
		told[v.Cell] = true
	}
	for i := range w.Set.Cells {
		c := &w.Set.Cells[i]
		s.Cells = append(s.Cells, c.Cell.ID)
		if !told[c.Cell.ID] {
			s.StandsOn = append(s.StandsOn, verdict{Cell: c.Cell.ID, Verdict: "no run that counts"})
		}
	}
	w.say(s)
}

// foundOut reports whether all cells are negative controls with the outcome they are meant to have.
func foundOut(cells []compare.Cell, stops []Stop) bool {
	return len(stops) > 0 &&
		!slices.ContainsFunc(stops, func(s Stop) bool { return !strings.Contains(s.Reason, plan.AsIntended) }) &&
		!slices.ContainsFunc(cells, func(c compare.Cell) bool { return c.Cell.Control == "" && c.Cell.SteerTo == nil })
}

// unsupported names what this host cannot run: modes, where no cell with them could, else cells.
// One sentence for each command that would show them.
func (w *writer) unsupported(stops []Stop) {
	var all []Stop
	cannot := map[string]bool{}
	for _, stop := range stops {
		if stop.Verdict == results.Unsupported {
			all = append(all, stop)
			for _, id := range stop.Cells {
				cannot[id] = true
			}
		}
	}
	type group struct {
		command string
		names   []string
		stops   []Stop
	}
	var groups []*group
	ran := w.ran(cannot)
	for _, stop := range all {
		names, command := w.whatOf(stop, ran)
		if stop.Blocked {
			names, command = stop.Cells, "" // the modes can run here
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return command != "" && g.command == command })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{command: command})
		}
		g := groups[i]
		for _, name := range names {
			if !slices.Contains(g.names, name) {
				g.names = append(g.names, name)
			}
		}
		g.stops = append(g.stops, stop)
	}
	for _, g := range groups {
		s := Sentence{Section: Absent, Kind: unsupported, Command: g.command}
		for _, stop := range g.stops {
			s.Cells, s.StandsOn = append(s.Cells, stop.Cells...), append(s.StandsOn, ofStop(stop)...)
		}
		s.Text = fmt.Sprintf("Cannot run here: %s.", few(g.names))
		them := "them"
		if len(g.names) == 1 {
			them = "it"
		}
		switch {
		case g.command == LabDemo:
			s.Text += " " + LabDemo + " shows " + them + ", with proof, on this machine, without a special NIC."
		case g.command == labAll:
			s.Text += " " + labAll + " runs " + them + " on a newer kernel, on this machine."
		default:
			if g.stops[0].Blocked {
				s.Text = fmt.Sprintf("Cannot run as things stand: %s.", few(g.names))
			}
			s.Text = strings.TrimSuffix(s.Text, ".") + fmt.Sprintf(": %s.",
				strings.TrimSuffix(cmp.Or(g.stops[0].Reason, "no reason given"), "."))
			if fix := g.stops[0].Fix; fix != "" {
				s.Text += " Fix: " + strings.TrimSuffix(fix, ".") + "."
			}
		}
		w.say(s)
	}
}

// whatOf names what a reason is about, and the command that would show it: of each cell the mode
// that could run with nothing, else the cell. ran are the ends' modes that could.
func (w *writer) whatOf(stop Stop, ran map[end]bool) (names []string, command string) {
	of := setOf(stop.Cells)
	told := map[string]bool{}
	for i := range w.Set.Cells {
		c := &w.Set.Cells[i].Cell
		if !of[c.ID] {
			continue
		}
		var blamed []string
		shown := ""
		for _, role := range []stream.Role{stream.RX, stream.TX} {
			mode := c.Mode(role)
			if mode == "" || ran[end{role, mode}] {
				continue
			}
			by := ShownBy(role, mode)
			if by != "" && shown == "" { // it is known to need something
				blamed = nil
			}
			if shown == "" || by != "" && len(blamed) == 0 {
				blamed = append(blamed, ofRole(role)+" "+mode)
			}
			shown = cmp.Or(shown, by)
		}
		name := c.ID
		if len(blamed) == 1 { // else it could be either
			name = blamed[0]
		}
		if !told[name] {
			told[name] = true
			names = append(names, name)
		}
		command = cmp.Or(command, shown)
	}
	return names, command
}

// end is a mode of an end.
type end struct {
	role stream.Role
	mode string
}

// ran collects the modes of the ends that some cell, other than those in a set, could run with.
func (w *writer) ran(not map[string]bool) map[end]bool {
	out := map[end]bool{}
	for i := range w.Set.Cells {
		if c := &w.Set.Cells[i].Cell; c.Control == "" && !not[c.ID] {
			out[end{stream.RX, c.RX}], out[end{stream.TX, c.TX}] = true, true
		}
	}
	return out
}

func setOf(names []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

// ShownBy returns the command that shows a mode on any machine; "" if no command does.
func ShownBy(role stream.Role, mode string) string {
	switch m, err := modes.Find(role, mode); {
	case os.Getenv(LabEnv) != "": // this is the lab, which has no other inside
		return ""
	case err != nil, m.Kind != stream.Stream, m.Has(stream.RoundTrips): // the demos of the lab are of TCP payload
		return ""
	case m.Has(stream.NeedsDev), m.Has(stream.SplitsHeaders): // a queue of a NIC, or how it lays payload
		return LabDemo
	case m.Has(stream.UsesNICQueue): // a kernel that is new enough
		return labAll
	}
	return ""
}

func ofStop(s Stop) (out []verdict) {
	for _, id := range s.Cells {
		v := verdict{Cell: id, Verdict: string(s.Verdict), Stop: s.Number}
		if s.Reason != "" {
			v.Verdict += ": " + s.Reason
		}
		out = append(out, v)
	}
	return out
}
