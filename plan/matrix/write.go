// SPDX-License-Identifier: MIT

package matrix

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/plan"
)

// Item writes a cell as an item of `include`: all that is chosen in it but for what the file says
// for all cells.
func (s *Spec) Item(c *plan.Cell) string {
	var words []string
	for i := range plan.Options {
		o := &plan.Options[i]
		if v := o.Raw(c); v != "" && v != o.Raw(&s.All) {
			words = append(words, o.Name+": "+Scalar(v))
		}
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// Scalar writes a text as a scalar of YAML that is read as the same text.
func Scalar(v string) string {
	plain := v != "" && strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-") == ""
	if plain && v[0] != '-' {
		return v
	}
	return strconv.Quote(v)
}

// Without returns the text of the file without some of its top keys, and without the comments
// behind them.
func (s *Spec) Without(keys ...string) (string, error) {
	root, err := parseYAML([]byte(s.File))
	if err != nil {
		return "", err
	}
	m, ok := root.(*ast.MappingNode)
	if !ok { // of one key alone, which no experiment is
		return "", at(root, "%s is not a mapping", s.fileName)
	}
	lines := strings.SplitAfter(strings.TrimPrefix(s.File, "\ufeff"), "\n")
	var out strings.Builder
	first := m.Values[0].Key.GetToken().Position.Line
	for _, line := range lines[:first-1] {
		if !strings.HasPrefix(line, "---") { // it goes on behind other lines
			out.WriteString(line)
		}
	}
	for i, v := range m.Values {
		p := v.Key.GetToken().Position
		key, err := scalar(v.Key)
		if err != nil || p.Column != 1 {
			return "", &Error{File: s.fileName, Line: p.Line, Column: p.Column,
				Msg: "a key of the experiment that does not begin its line: write each of them on a line of its own, " +
					"not indented and without braces around all"}
		}
		end := len(lines)
		if i+1 < len(m.Values) {
			end = m.Values[i+1].Key.GetToken().Position.Line - 1
		}
		if !slices.Contains(keys, key) {
			out.WriteString(strings.Join(lines[p.Line-1:end], ""))
		}
	}
	text := out.String()
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, nil
}

// Differing lists the options in which cells differ, but for their modes.
func Differing(cells []plan.Cell) (names []string) {
	for i := range plan.Factors {
		o := &plan.Factors[i]
		if slices.ContainsFunc(cells, func(c plan.Cell) bool { return o.Raw(&c) != o.Raw(&cells[0]) }) {
			names = append(names, o.Name)
		}
	}
	return names
}
