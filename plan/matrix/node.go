// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/plan"
)

// Error is a mistake in an experiment file.
type Error struct {
	File         string
	Line, Column int // from 1
	Msg          string
}

func (e *Error) Error() string {
	const most = 1000 // of a text that may quote the file
	msg := e.Msg
	if len(msg) > most {
		msg = strings.ToValidUTF8(msg[:most], "") + "..."
	}
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, msg)
}

// at makes an error of a place in the file. The file's name is added later.
func at(n ast.Node, format string, args ...any) error {
	e := &Error{Msg: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line, e.Column = position(n.GetToken())
	}
	return e
}

func position(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return max(t.Position.Line, 1), max(t.Position.Column, 1)
}

// parseYAML reads one document. The library is not proof against every text that
// is no YAML: what makes it panic is a mistake of the text, too.
func parseYAML(data []byte) (n ast.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			n, err = nil, &Error{Line: 1, Column: 1, Msg: fmt.Sprintf("not YAML (the parser gave up: %v)", p)}
		}
	}()
	text, err := clean(data)
	if err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(text)
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	f, err := parser.Parse(tokens, 0)
	if s := (*yaml.SyntaxError)(nil); errors.As(err, &s) {
		line, column := position(s.Token)
		return nil, &Error{Line: line, Column: column, Msg: "not YAML: " + s.Message + typeInstead(s.Message)}
	}
	if d := (*yaml.DuplicateKeyError)(nil); errors.As(err, &d) {
		line, column := position(d.Token)
		return nil, &Error{Line: line, Column: column, Msg: d.Message}
	}
	if err != nil {
		return nil, &Error{Line: 1, Column: 1, Msg: "not YAML: " + firstLine(err.Error())}
	}
	var docs []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil {
			docs = append(docs, d.Body)
		}
	}
	switch len(docs) {
	case 0:
		return nil, &Error{Line: 1, Column: 1, Msg: "the file is empty"}
	case 1:
		return docs[0], nil
	}
	return nil, at(docs[1], "a second document: an experiment file holds one")
}

// typeInstead says what to type where the parser says only what it met.
func typeInstead(met string) string {
	switch {
	case strings.Contains(met, "'\t'"):
		return ": indent with spaces, not with a tab"
	case strings.Contains(met, "',' or ']'"):
		return ": a list that begins with [ ends with ], on this line or before it"
	case strings.Contains(met, "',' or '}'"):
		return ": a mapping that begins with { ends with }, on this line or before it"
	}
	return ""
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// field is how one key of a mapping is read.
type field struct {
	key  string
	read func(ast.Node) error
}

// readMap reads a mapping whose keys must all be known and come once.
func readMap(n ast.Node, what string, fields []field) error {
	pairs, err := mapping(n, what)
	if err != nil {
		return err
	}
	seen := map[int]string{}
	for _, p := range pairs {
		find := func(key string) int { return slices.IndexFunc(fields, func(f field) bool { return f.key == key }) }
		i := find(p.key)
		if o := plan.ByWord(p.key); i < 0 && o != nil {
			i = find(o.Name)
		}
		if i < 0 {
			return unknownKey(p, what, fields)
		}
		if is := seen[i]; is != "" {
			return at(p.node, "%s says the same as %s: give one of them", p.key, is)
		}
		seen[i] = p.key
		if err := fields[i].read(p.value); err != nil {
			return err
		}
	}
	return nil
}

// unknownKey says of a key that is none what to type instead.
func unknownKey(p pair, what string, fields []field) error {
	var known []string
	for _, f := range fields {
		known = append(known, f.key)
	}
	if what == wholeFile && plan.ByWord(p.key) != nil {
		return at(p.node, "%s is a factor: write it below `factors:`, indented", p.key)
	}
	return at(p.node, "unknown key %q in %s%s", p.key, what, near.Instead(p.key, "keys", known))
}

// wholeFile is what errors call the outermost mapping.
const wholeFile = "the experiment"

type pair struct {
	key         string
	node, value ast.Node
}

// likes are examples of mappings that many write as one value.
var likes = map[string]string{
	"sut":     `sut: {host: "netns:a"}`,
	"tg":      `tg: {host: "netns:b"}`,
	"factors": "factors: {rx: [tcp, uring], tx: [tcp]}",
	"gates":   "gates: {foreign_cores: 0.1}",
}

func mapping(n ast.Node, what string) ([]pair, error) {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		like := "key: value"
		if example, ok := likes[what]; ok {
			like = "such as " + example
		}
		return nil, at(n, "%s must be a mapping (%s), this is %s", what, like, shape(n))
	}
	seen := map[string]bool{}
	var out []pair
	for _, v := range values {
		key, err := scalar(v.Key)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, at(v.Key, "key %q twice", key)
		}
		seen[key] = true
		out = append(out, pair{key, v.Key, v.Value})
	}
	return out, nil
}

// list reads a sequence; a single value is a sequence of one.
func list(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return []ast.Node{n}
}

// scalar reads the text of a plain or quoted value. Quoted ones may write characters that the file
// itself may not have.
func scalar(n ast.Node) (string, error) {
	s, err := scalarText(n)
	if err == nil && strings.ContainsFunc(s, isControl) {
		return "", at(n, "%.100q has a control character", s)
	}
	return s, err
}

func scalarText(n ast.Node) (string, error) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, nil
	case *ast.LiteralNode:
		return strings.TrimSpace(v.Value.Value), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		// As it was written: 1_000 or 0x10 is for the reader of the value to judge.
		return n.GetToken().Value, nil
	case nil:
		return "", at(n, "a value is missing")
	}
	return "", at(n, "want one value, this is %s", shape(n))
}

func shape(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	}
	return "a value"
}

// read reads one scalar with parse; its error gets the place.
func read[T any](to *T, parse func(string) (T, error)) func(ast.Node) error {
	return func(n ast.Node) error {
		s, err := scalar(n)
		if err != nil {
			return err
		}
		v, err := parse(s)
		if err != nil {
			return at(n, "%v", err)
		}
		*to = v
		return nil
	}
}
