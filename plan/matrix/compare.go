// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/plan"
)

// compare reads what the file says of the comparisons that reports make.
func (x *expansion) compare(n ast.Node) error {
	return readMap(n, "compare", []field{{"primary", x.primary}, {"about", x.about},
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
		return fmt.Errorf("a spread of %d: want of 2 to 1000", d.Of)
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
		if plan.LookupOption(name) == nil {
			return at(item, "unknown factor %q; the factors are %s", name, strings.Join(optionNames(), ", "))
		}
		x.spec.About, x.abouts = append(x.spec.About, name), append(x.abouts, item)
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
			x.spec.Primary = append(x.spec.Primary, c.ID)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return at(x.primaries[i].node, "this item of primary matches no cell besides the baseline")
	}
	return nil
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
