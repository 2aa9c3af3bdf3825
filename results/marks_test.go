// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// tableOf formats marks as a table of docs.
func tableOf(want func(*Mark) bool) string {
	var b strings.Builder
	b.WriteString("| flag | meaning | what to do |\n|---|---|---|\n")
	for i := range Marks {
		if m := &Marks[i]; want(m) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Flag, m.Means, m.Do)
		}
	}
	return b.String()
}

// What docs tell of marks and limits is made of the lists:
//
//	go test ./results -run 'TestMarkDocs|TestColumnDocs' -update
func TestMarkDocs(t *testing.T) {
	const page = "../docs/read-a-report.md"
	madeOf(t, page, "flags", tableOf(func(m *Mark) bool { return m.Common }))
	madeOf(t, "../docs/power.md", "power flags", tableOf(func(m *Mark) bool {
		return m.Page == "power.md" && strings.Contains(m.Flag, "power")
	}))
	var b strings.Builder
	b.WriteString("| limit | meaning | what takes it away |\n|---|---|---|\n")
	for _, l := range plan.Limiters {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.By, l.Means, l.Do)
	}
	madeOf(t, page, "limits", b.String())
}

// sources calls f with every source file of what is built, but for tests.
func sources(t *testing.T, f func(path string, file *ast.File)) {
	t.Helper()
	for _, room := range []string{"bench", "cmd", "judge", "machine", "plan", "power", "results"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := goparser.ParseFile(token.NewFileSet(), path, nil, goparser.SkipObjectResolution)
			if err == nil {
				f(path, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// listed reports whether a flag, or what flags begin with, is in the list.
func listed(flag string) bool {
	return slices.ContainsFunc(Marks, func(m Mark) bool {
		return m.Flag == flag || strings.HasSuffix(flag, "-") && strings.HasPrefix(m.Flag, flag)
	})
}

// Every flag that code can put on a run has a name, a constant Flag..., and is in the list; so is
// that of each gate that marks runs. The list says of each what it means, on which page.
func TestMarks(t *testing.T) {
	found := 0
	sources(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if len(n.Values) <= i || !strings.HasPrefix(strings.ToLower(name.Name), "flag") {
						continue
					}
					if v, ok := text(n.Values[i]); ok && !strings.Contains(path, "/cmd/") {
						if found++; !listed(v) {
							t.Errorf("%s: the flag %s (%q) is not in Marks", path, name.Name, v)
						}
					}
				}
			case *ast.CallExpr:
				for _, flag := range flagged(n) {
					if v, ok := text(flag); ok {
						t.Errorf("%s: the flag %q has no constant Flag...", path, v)
					}
				}
			}
			return true
		})
	})
	if found < 35 {
		t.Errorf("only %d constants", found)
	}
	for _, l := range plan.Limits {
		for _, flag := range l.Flags() {
			if l.Marks() && !listed(flag) {
				t.Errorf("the flag %s of a gate is not in Marks", flag)
			}
		}
	}
	for i, m := range Marks {
		if m.Means == "" || !strings.HasSuffix(m.Page, ".md") ||
			slices.ContainsFunc(Marks[:i], func(o Mark) bool { return o.Flag == m.Flag }) {
			t.Errorf("%+v: lacks something, or is there twice", m)
		}
	}
}

// text returns what a literal, or what begins a sum of texts, says.
func text(x ast.Expr) (string, bool) {
	if sum, ok := x.(*ast.BinaryExpr); ok {
		return text(sum.X)
	}
	lit, ok := x.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	v, err := strconv.Unquote(lit.Value)
	return v, err == nil
}

// flagged returns the flags that a call puts on a record: append(x.Flags, ...) of one that is no
// warning of package counter, and x.Mark(flag, warning).
func flagged(call *ast.CallExpr) []ast.Expr {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Mark" && len(call.Args) == 2 {
		return call.Args[:1]
	}
	if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "append" || len(call.Args) < 2 {
		return nil
	}
	if to, ok := call.Args[0].(*ast.SelectorExpr); !ok || to.Sel.Name != "Flags" || isUsage(to.X) {
		return nil
	}
	return call.Args[1:]
}

// isUsage reports whether the flags are the words of package counter, which become warnings.
func isUsage(x ast.Expr) bool { id, ok := x.(*ast.Ident); return ok && id.Name == "u" }

// A mark is found by its flag, also one of several that begin alike.
func TestMarkOf(t *testing.T) {
	for flag, want := range map[string]string{FlagTrial: FlagTrial, "over-vlan": "over-KIND",
		"inert-big_tcp": "inert-OPTION", "over-": "", "nothing": "", "softirq-by-rps": "softirq-by-rps"} {
		got := ""
		if m := MarkOf(flag); m != nil {
			got = m.Flag
		}
		if got != want {
			t.Errorf("%s: %q, want %q", flag, got, want)
		}
	}
}
