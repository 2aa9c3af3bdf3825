// SPDX-License-Identifier: MIT

package mk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// byErrno is a table of errnos and what to do about them, beside that of internal/remedy.
var byErrno = regexp.MustCompile(`map\[(unix|syscall)\.Errno\]string`)

// What an errno means stands in one table: no package has one of its own.
func TestOneTableOfErrnos(t *testing.T) {
	for _, f := range tracked(t, regexp.MustCompile(`\.go$`)) {
		if strings.HasSuffix(f.path, "_test.go") || strings.HasPrefix(f.path, "internal/remedy/") {
			continue
		}
		if byErrno.MatchString(f.text) {
			t.Errorf("%s: what an errno of a call means belongs into internal/remedy", f.path)
		}
	}
}

// byHand are calls whose errnos no call gives: a flow that stands still has none. bench/endpoint
// says of one why.
var byHand = map[string]bool{"Progress": true}

// Every call of the table is made to fail, somewhere, by a test of who makes it: one that has
// errnos injected, by seccomp or by canned replies.
func TestEveryCallIsMadeToFail(t *testing.T) {
	calls, tried, used := callsOfTable(t), map[string]bool{}, map[string]bool{}
	name := regexp.MustCompile(`\bremedy\.([A-Z]\w*)`)
	injects := regexp.MustCompile(`\b(remedytest|denied)\.`)
	for _, f := range tracked(t, regexp.MustCompile(`\.go$`)) {
		if strings.HasPrefix(f.path, "internal/remedy/") {
			continue
		}
		test := strings.HasSuffix(f.path, "_test.go")
		for _, m := range name.FindAllStringSubmatch(f.text, -1) {
			if !test {
				used[m[1]] = true
			} else if injects.MatchString(f.text) {
				tried[m[1]] = true
			}
		}
	}
	for c, text := range calls {
		if byHand[c] {
			continue
		}
		family := false // that of others: nobody makes it itself
		for _, other := range calls {
			family = family || strings.HasPrefix(other, text+": ")
		}
		switch {
		case family && !used[c]:
		case !used[c]:
			t.Errorf("remedy.%s (%s): nobody makes this call", c, text)
		case !tried[c]:
			t.Errorf("remedy.%s (%s): no test makes it fail", c, text)
		}
	}
}

// callsOfTable are the constants of type Call, with their texts.
func callsOfTable(t *testing.T) map[string]string {
	t.Helper()
	calls := map[string]string{}
	for _, f := range tracked(t, regexp.MustCompile(`^internal/remedy/[^/]*\.go$`)) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			kind, isCall := v.Type.(*ast.Ident)
			text, isText := v.Values[0].(*ast.BasicLit)
			if isCall && isText && kind.Name == "Call" && text.Value != `""` {
				calls[v.Names[0].Name] = strings.Trim(text.Value, `"`)
			}
			return true
		})
	}
	if len(calls) < 50 {
		t.Fatalf("found %d calls", len(calls))
	}
	return calls
}
