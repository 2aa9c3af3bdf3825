// SPDX-License-Identifier: MIT

package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/tune"
	"github.com/zcbench/zcbench/plan"
)

// longest is the most bytes that a host, or an option's value, of a played plan has.
const longest = 4096

// checkPlayed refuses a plan that neither a file nor flags could have made. fit leaves the
// windows to the tool.
func (s *Spec) checkPlayed(fit bool) error {
	for _, check := range []func() error{s.checkNames, s.SUT.checkPlayed, s.TG.checkPlayed,
		func() error { return s.checkKeys(fit) }, s.checkCells, s.adaptiveFits, s.TurnsFit, s.runsFit, s.checkGates,
		s.checkQuestions} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spec) checkNames() error {
	if _, err := parseFileName(s.Name); err != nil {
		return err
	}
	if (s.SUT.Host == "") != (s.TG.Host == "") {
		return errors.New("only one end has a host")
	}
	if len(s.Description) > maxFile || strings.ContainsFunc(s.Description, isControl) {
		return errors.New("the description is too long, or has a control character")
	}
	return plainLine("name", s.Name)
}

// plainLine refuses what would not stay one line of a terminal. Quoted values of files cannot
// have it either.
func plainLine(what, text string) error {
	if len(text) > longest || plaintext.Line(text) != text {
		return fmt.Errorf("%s %.80q is too long, or not one line of plain text", what, text)
	}
	return nil
}

func (e *End) checkPlayed() error {
	for what, text := range map[string]string{"host": e.Host, "interface": e.Dev, "address": e.Addr} {
		if err := plainLine(what, text); err != nil {
			return err
		}
	}
	if _, err := Devs(e.Dev); e.Dev != "" && err != nil {
		return err
	}
	if _, err := parseAddr(e.Addr); e.Addr != "" && err != nil {
		return err
	}
	if n := e.Node; n != nil && (*n < AnyNode || *n > mostNode) {
		return fmt.Errorf("NUMA node %d", *n)
	}
	for _, n := range append(e.ThreadCPUs(), e.CPUs...) {
		if n < -1 || n > mostCPU || n == -1 && len(e.CPUs) > 0 {
			return fmt.Errorf("CPU %d", n)
		}
	}
	if len(e.CPUs) == 1 || len(e.CPUs) > stream.MaxFlows || len(e.CPUs) > 1 && (e.CPU == nil || *e.CPU != e.CPUs[0]) {
		return fmt.Errorf("%d CPUs of threads", len(e.CPUs))
	}
	for name, l := range e.Layouts {
		if err := l.check(name); err != nil {
			return err
		}
	}
	for i := range plan.Options {
		if o := &plan.Options[i]; !ofOneHost(o) && o.Raw(&e.Settings.Host) != "" {
			return fmt.Errorf("%s is not a setting of one host", o.Name)
		}
	}
	for name, v := range e.Settings.Sysctl {
		if err := tune.CheckSetting("sysctl "+name, v); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys holds every key to what a flag may say. Only what the tool is to choose is 0.
func (s *Spec) checkKeys(fit bool) error {
	for i := range Keys {
		k, scratch := &Keys[i], New()
		text := k.Get(s)
		if fit && k.Name == "duration" && s.Duration == 0 {
			continue
		}
		if err := k.Say(scratch, text); err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	return nil
}

// checkCells refuses cells that are twice there, and ids that are not of their cells.
func (s *Spec) checkCells() error {
	if n := len(s.Cells); n < 1 || n > maxCells {
		return fmt.Errorf("%d cells", n)
	}
	if s.Folded < 0 || s.Folded > maxCombinations {
		return fmt.Errorf("%d identical cells", s.Folded)
	}
	known := map[string]bool{}
	for _, c := range append(slices.Clone(s.Cells), s.All, s.SUT.Settings.Host, s.TG.Settings.Host) {
		if err := checkChosen(c, known); err != nil {
			return err
		}
	}
	ids, keys := map[string]bool{}, map[plan.CellKey]bool{}
	for i := range s.Cells {
		c := &s.Cells[i]
		if !named(c) {
			return fmt.Errorf("cell %d: %.80q is not the name of %.40s/%.40s with its factors", i+1, c.ID, c.RX, c.TX)
		}
		if ids[c.ID] || keys[c.Key()] {
			return fmt.Errorf("cell %d, %.80q, occurs twice", i+1, c.ID)
		}
		ids[c.ID], keys[c.Key()] = true, true
	}
	if s.All.ID+s.SUT.Settings.Host.ID+s.TG.Settings.Host.ID != "" {
		return errors.New("a name that belongs to no cell")
	}
	return nil
}

// named reports whether the id of a cell gives its modes and then factors that it has, in their
// order (see [name]): a reader goes by it. A mode that cannot run stands without one of the other
// end ([Shape].Fold).
func named(c *plan.Cell) bool {
	rest, ok := strings.CutPrefix(c.ID, cmp.Or(c.RX, "*")+"/"+cmp.Or(c.TX, "*"))
	for i := range plan.Factors {
		f := &plan.Factors[i]
		rest = strings.TrimPrefix(rest, " "+f.Name+"="+f.Value(c))
	}
	return ok && rest == ""
}

// checkChosen refuses what no file may set. Which modes the cell has does not count: what holds
// for all cells has none. known are choices that were looked at before.
func checkChosen(c plan.Cell, known map[string]bool) error {
	for i := range plan.Options {
		o := &plan.Options[i]
		v := o.Raw(&c)
		choice := o.Name + " " + v
		if v == "" || known[choice] {
			continue
		}
		known[choice] = true
		if err := plainLine(o.Name, v); err != nil {
			return err
		}
		var again plan.Cell
		if err := o.Set(&again, v); err != nil {
			return &plan.OptionError{Option: o, Value: v, Err: err}
		}
		if o.Kind == plan.OfModes {
			continue
		}
		if err := Settable(o, v); err != nil {
			return &plan.OptionError{Option: o, Value: v, Err: err}
		}
	}
	return nil
}

// checkGates puts every gate back as a file would say it: a share is one, nothing is negative,
// and no run is made again without end.
func (s *Spec) checkGates() error {
	again, g := New(), &s.Gates
	say := map[string]string{}
	for _, l := range plan.Limits {
		if v := *l.At(g); v != nil {
			say[l.Key] = strconv.FormatFloat(*v, 'g', -1, 64)
		}
	}
	if g.Limit != "" {
		say[plan.LimitGate] = string(g.Limit)
	}
	if g.Replace != nil {
		say["replace"] = strconv.Itoa(*g.Replace)
	}
	if !g.IgnoreInert {
		say[plan.ActedGate] = "on"
	}
	for _, key := range GateKeys() {
		text, ok := say[key]
		if !ok {
			continue
		}
		if err := again.SetGate(key, text); err != nil {
			return fmt.Errorf("gate %s: %w", key, err)
		}
	}
	if again.Gates.Limit != g.Limit { // off, in other words
		return fmt.Errorf("gate %s: %.40q", plan.LimitGate, g.Limit)
	}
	before := ""
	for _, key := range g.Asked { // in order, as Ask has them
		if key <= before || !slices.Contains(again.Gates.Asked, key) {
			return fmt.Errorf("%.40q is not a requested gate, or out of place", key)
		}
		before = key
	}
	return nil
}

// checkQuestions refuses comparisons of what the plan does not have.
func (s *Spec) checkQuestions() error {
	at := map[string]*plan.Cell{}
	for i := range s.Cells {
		at[s.Cells[i].ID] = &s.Cells[i]
	}
	if b := s.Base; b != nil && (at[b.ID] == nil || at[b.ID].Key() != b.Key()) {
		return fmt.Errorf("the baseline %.80q is none of the cells", b.ID)
	}
	if len(s.Primary) > len(s.Cells) || len(s.Primary) > 0 && s.Base == nil {
		return errors.New("comparisons with a missing baseline, or more comparisons than cells")
	}
	for _, id := range s.Primary {
		if at[id] == nil {
			return fmt.Errorf("the comparisons that count are of %.80q, which is none of the cells", id)
		}
	}
	if len(s.Against) > plan.MaxAgainst || len(s.Against) > 0 && s.Primary == nil {
		return fmt.Errorf("%d partners, and %d comparisons that count", len(s.Against), len(s.Primary))
	}
	for _, has := range s.Against {
		for name, v := range has {
			o := plan.LookupOption(name)
			if o == nil {
				return fmt.Errorf("partners have %.40q, which is not a factor", name)
			}
			if err := plainLine(name, v); err != nil {
				return err
			}
			if err := o.Set(new(plan.Cell), v); v != "" && err != nil {
				return &plan.OptionError{Option: o, Value: v, Err: err}
			}
		}
	}
	if len(s.About) > maxExcludes {
		return fmt.Errorf("comparisons are about %d factors", len(s.About))
	}
	for _, name := range s.About {
		if plan.LookupOption(name) == nil {
			return fmt.Errorf("comparisons are about %.40q, which is not a factor", name)
		}
	}
	if err := checkDeclared(plan.Declared{SD: s.BetweenBoots, Of: s.BetweenBootsOf}); err != nil {
		return fmt.Errorf("between_boots: %w", err)
	}
	if err := checkDeclared(s.BetweenStarts); err != nil {
		return fmt.Errorf("between_starts: %w", err)
	}
	return nil
}
