// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/plan"
)

// compare reads what the file says of the comparisons that reports make.
func (x *expansion) compare(n ast.Node) error {
	return readMap(n, "compare", []field{{"primary", x.primary}, {"against", x.readAgainst},
		{"about", x.about},
		{"between_boots", func(n ast.Node) error {
			var d plan.Declared
			err := read(&d, parseDeclared)(n)
			x.spec.BetweenBoots, x.spec.BetweenBootsOf = d.SD, d.Of
			return err
		}},
		{"between_starts", read(&x.spec.BetweenStarts, parseDeclared)}})
}

// parseDeclared reads a spread that somebody measured: "1%", or "1% of 6".
func parseDeclared(text string) (d plan.Declared, err error) {
	share, of, told := strings.Cut(text, " of ")
	if d.SD, err = parseFraction(strings.TrimSpace(share)); err != nil {
		return d, err
	}
	if told {
		if d.Of, err = strconv.Atoi(strings.TrimSpace(of)); err != nil {
			return d, fmt.Errorf("%.40q: want how far apart they are and how many were measured, such as 1%% of 6",
				text)
		}
	}
	return d, checkDeclared(d)
}

func checkDeclared(d plan.Declared) error {
	if _, err := parseFraction(strconv.FormatFloat(d.SD, 'g', -1, 64)); err != nil {
		return err
	}
	if d.Of != 0 && (d.Of < 2 || d.Of > 1000) {
		return fmt.Errorf("a spread that was measured on %d: it takes 2 to 1000, such as 1%% of 6", d.Of)
	}
	return nil
}

// about reads the factors that comparisons are about.
func (x *expansion) about(n ast.Node) error {
	for _, item := range list(n) {
		name, err := scalar(item)
		if err != nil {
			return err
		}
		o := plan.ByWord(name)
		if o == nil {
			return at(item, "unknown factor %q%s", name, near.Instead(name, "factors", optionNames()))
		}
		x.spec.About, x.abouts = append(x.spec.About, o.Name), append(x.abouts, item)
	}
	if x.abouts == nil {
		return at(n, "about: want the factors that comparisons are about, such as [rx]")
	}
	return nil
}

// checkAbout refuses questions that no two cells could answer.
func (x *expansion) checkAbout() error {
	for i, name := range x.spec.About {
		o := plan.LookupOption(name)
		if !slices.ContainsFunc(x.spec.Cells,
			func(c plan.Cell) bool { return o.Raw(&c) != o.Raw(&x.spec.Cells[0]) }) {
			return at(x.abouts[i], "comparisons are about %s, which is the same in all cells", name)
		}
	}
	return nil
}

func (x *expansion) primary(n ast.Node) error {
	items := list(n)
	if len(items) == 0 || len(items) > maxExcludes {
		return at(n, "primary: want 1 to %d items, each factors that cells have", maxExcludes)
	}
	for _, item := range items {
		p, err := readProduct(item, "primary")
		if err != nil {
			return err
		}
		x.primaries = append(x.primaries, p)
	}
	return nil
}

// choosePrimary finds the cells whose comparisons with the baseline were declared to be
// those that count.
func (x *expansion) choosePrimary() error {
	if len(x.primaries) == 0 {
		return nil
	}
	if x.spec.Base == nil {
		return at(x.primaries[0].node, "compare.primary names cells to compare with the baseline, but the file "+
			"has none; such as baseline: {rx: tcp, tx: tcp}")
	}
	used := make([]bool, len(x.primaries))
	for i := range x.spec.Cells {
		c := &x.spec.Cells[i]
		if c.Key() == x.spec.Base.Key() {
			continue
		}
		of, hit := valuesOf(c), false
		for k, p := range x.primaries {
			if p.matches(of) {
				used[k], hit = true, true
			}
		}
		if hit {
			x.spec.Primary, x.counting = append(x.spec.Primary, c.ID), append(x.counting, *c)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return at(x.primaries[i].node, "this item of primary matches no cell besides the baseline")
	}
	return nil
}

// readAgainst reads what the partners of primary cells have: every combination is one.
func (x *expansion) readAgainst(n ast.Node) error {
	x.againstAt = n
	for _, item := range list(n) {
		p, err := readProduct(item, "against")
		if err != nil {
			return err
		}
		if x.partners += p.count(); x.partners > plan.MaxAgainst {
			return at(item, "against: more than %d partners of a cell", plan.MaxAgainst)
		}
		x.against = append(x.against, p)
	}
	if x.against == nil {
		return at(n, "against: want what partners of primary cells have, such as {header_split: true}")
	}
	return nil
}

// chooseAgainst finds what the partners of primary cells have, and refuses what gives none of them
// a partner.
func (x *expansion) chooseAgainst() error {
	if x.against == nil {
		return nil
	}
	if x.spec.Primary == nil {
		return at(x.againstAt, "compare.against says what primary cells are compared with, but the file has no "+
			"compare.primary")
	}
	cells := map[plan.CellKey]bool{}
	for _, c := range x.spec.Cells {
		cells[c.Key()] = true
	}
	for _, p := range x.against {
		for _, a := range p.axes {
			if !slices.ContainsFunc(x.counting, func(c plan.Cell) bool { return !a.option.Concerns(&c) }) {
				return at(a.node, "%s applies to every primary cell: its partner has the same as the cell itself",
					a.option.Name)
			}
		}
		for _, has := range p.raws() {
			if !slices.ContainsFunc(x.counting, func(c plan.Cell) bool { return x.hasPartner(c, has, cells) }) {
				return at(p.node, "no primary cell has a partner with %s", saidOf(has))
			}
			x.spec.Against = append(x.spec.Against, has)
		}
	}
	return nil
}

// hasPartner reports whether a cell has one with all these options in the plan, which differs in a
// mode that is asked about.
func (x *expansion) hasPartner(c plan.Cell, has map[string]string, cells map[plan.CellKey]bool) bool {
	for _, mode := range []string{"rx", "tx"} {
		o := plan.LookupOption(mode)
		if x.spec.About != nil && !slices.Contains(x.spec.About, mode) || o.Raw(&c) == o.Raw(x.spec.Base) {
			continue
		}
		brought := 0
		with := c.With(o, o.Raw(x.spec.Base), func(p *plan.Option) (string, bool) {
			if v, ok := has[p.Name]; ok {
				return v, true
			}
			return p.Raw(x.spec.Base), true
		})
		for name, v := range has {
			if p := plan.LookupOption(name); !p.Concerns(&c) && p.Raw(&with) == v {
				brought++
			}
		}
		if brought == len(has) && cells[with.Key()] {
			return true
		}
	}
	return false
}

// raws lists the combinations of a product's values, as [plan.Option.Raw] tells them.
func (p product) raws() []map[string]string {
	all := []map[string]string{{}}
	for _, a := range p.axes {
		var next []map[string]string
		for _, has := range all {
			for _, v := range a.values {
				var c plan.Cell
				_ = a.option.Set(&c, v) // was tried when it was read
				more := maps.Clone(has)
				more[a.option.Name] = a.option.Raw(&c)
				next = append(next, more)
			}
		}
		all = next
	}
	return all
}

// saidOf formats options of a partner, in the order of all options.
func saidOf(has map[string]string) string {
	var said []string
	for i := range plan.Options {
		if v, ok := has[plan.Options[i].Name]; ok {
			said = append(said, plan.Options[i].Name+"="+v)
		}
	}
	return strings.Join(said, ", ")
}

// PrimaryModes declares the comparisons of plans without a file: of each mode beside the
// baseline's mode of the other end, as far as there are others.
func (s *Spec) PrimaryModes(base plan.Cell) {
	s.Base, s.Primary = &base, nil
	for _, c := range s.Cells {
		if c.Key() != base.Key() && (c.RX == base.RX || c.TX == base.TX) {
			s.Primary = append(s.Primary, c.ID)
		}
	}
}

// Purposes of an experiment.
const (
	measure = "measure" // its comparisons are to give verdicts
	Check   = "check"   // that paths work
)

func parsePurpose(s string) (string, error) {
	if s != measure && s != Check {
		return "", fmt.Errorf(
			"%.40q is not a purpose: want %s (comparisons should give verdicts) or %s (paths should work)", s, measure,
			Check)
	}
	return s, nil
}
