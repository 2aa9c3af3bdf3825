// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/plan"
)

// gates: a limit, or off. What is named is asked for.
func (s *Spec) gates(n ast.Node) error {
	var fields []field
	for _, key := range GateKeys() {
		fields = append(fields, field{key, read(new(string), func(text string) (string, error) {
			return text,
				s.SetGate(key, text)
		})})
	}
	return readMap(n, "gates", fields)
}

// GateKeys lists the keys of all gates.
func GateKeys() (keys []string) {
	for _, l := range plan.Limits {
		keys = append(keys, l.Key)
	}
	return append(keys, plan.LimitGate, plan.ActedGate, "replace")
}

// SetGate sets a gate as a file does: to a limit, or off.
func (s *Spec) SetGate(key, text string) error {
	g := &s.Gates
	switch key {
	case plan.LimitGate:
		return parseInto(&g.Limit, parseLimit, text)
	case plan.ActedGate:
		on, err := parseBool(text)
		g.IgnoreInert = err == nil && !on
		g.Ask(key, on)
		return err
	case "replace":
		g.Replace = new(int)
		return parseInto(g.Replace, within(0, plan.DefaultReplace), text)
	}
	i := slices.IndexFunc(plan.Limits, func(l plan.Limit) bool { return l.Key == key })
	if i < 0 {
		return fmt.Errorf("unknown gate %.40q%s", key, near.Instead(key, "gates", GateKeys()))
	}
	l := plan.Limits[i]
	off := text == "off" || text == "false"
	g.Ask(key, !off && l.Marks())
	to := l.At(g)
	if *to = nil; off {
		return nil
	}
	parse := parseNumber
	if l.Share {
		parse = parseFraction
	}
	*to = new(float64)
	return parseInto(*to, parse, text)
}

func parseInto[T any](to *T, parse func(string) (T, error), text string) error {
	v, err := parse(text)
	if err == nil {
		*to = v
	}
	return err
}

func parseLimit(s string) (plan.LimitedBy, error) {
	switch l := plan.LimitedBy(s); {
	case s == "off":
		return "", nil
	case slices.Contains(plan.LimitedBys, l):
		return l, nil
	}
	return "", fmt.Errorf("%.40q cannot limit runs: want off, or one of %v", s, plan.LimitedBys)
}
