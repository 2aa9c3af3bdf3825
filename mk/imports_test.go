// SPDX-License-Identifier: MIT

package mk

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zcbench/zcbench/"

// house has the rooms of the house from the top down. A package imports its own room and
// those of rows below. .golangci.yml says the same of what is no test.
var house = [][]string{
	{"cmd", "tools/versus", "tools/field", "tools/probed"},
	{"bench"},
	{"judge"},
	{"results"},
	{"plan"},
	{"zc", "baseline", "packet", "power", "bpf", "profile"},
	{"machine"},
	{"flow"},
	{"internal"},
}

// aside are the rooms beside the house, with what they may import. Only the first row may import
// the lab and the docs, and only the lab may import mk.
var aside = map[string][]string{
	"lab":            {"machine", "internal", "mk"},
	"mk":             {"internal"},
	"docs":           {},
	"tools/kinds":    {"internal"},
	"tools/lanes":    {"internal"},
	"tools/packages": {"internal"},
}

// room is the folder at the top that a package is in. Each of the tools is a room of its own.
func room(path string) string {
	name, below, _ := strings.Cut(path, "/")
	if name == "tools" {
		below, _, _ = strings.Cut(below, "/")
		return name + "/" + below
	}
	return name
}

func rank(name string) int {
	return slices.IndexFunc(house, func(r []string) bool { return slices.Contains(r, name) })
}

// helper says that a package is for tests: nothing else imports it.
func helper(path string) bool { return strings.HasSuffix(path, "test") }

// allowed says whether a package may import another, in what is no test or in tests. Tests
// may also import the other rooms of their row, helpers, the lab's view from inside, and records of
// the runs that they make.
func allowed(from, to string, test bool) bool {
	test = test || helper(from)
	if helper(to) || to == "lab/guest" && test {
		return test
	}
	f, t := room(from), room(to)
	if f == t {
		return true
	}
	if names, ok := aside[f]; ok {
		return slices.Contains(names, t)
	}
	if _, ok := aside[t]; ok {
		return rank(f) == 0 && (t == "lab" || t == "docs")
	}
	return rank(f) < rank(t) || test && (rank(f) == rank(t) || t == "results" || t == "plan")
}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// packages are all of ours, as they are built here.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...",
		"./tools/...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	must(t, err)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else {
			must(t, err)
		}
		all = append(all, p)
	}
}

// Imports point downward only.
func TestImportsPointDown(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if _, ok := aside[room(from)]; !ok && rank(room(from)) < 0 {
			t.Errorf("%s is in no row and not aside: say where it belongs in mk/imports_test.go", from)
		}
		check := func(paths []string, test bool) {
			for _, path := range paths {
				to, ours := strings.CutPrefix(path, module)
				if !ours {
					continue
				}
				seen++
				if !allowed(from, to, test) {
					t.Errorf("%s imports %s (in a test: %v), which is not below it", from, to, test)
				}
			}
		}
		check(p.Imports, false)
		check(p.TestImports, true)
		check(p.XTestImports, true)
	}
	if seen < 100 {
		t.Errorf("only %d imports: go list says something else now", seen)
	}
}

func TestAllowed(t *testing.T) {
	for _, x := range []struct {
		from, to     string
		code, inTest bool
	}{
		{"cmd/zcbench", "bench", true, true},
		{"cmd/zcbench", "lab", true, true},
		{"bench", "cmd/internal/cli", false, false},
		{"tools/versus", "machine/veth/program", true, true},
		{"tools/field", "lab/guest", true, true},
		{"tools/lanes", "internal/kind", true, true},
		{"tools/lanes", "results", false, false},
		{"cmd/zcbench", "tools/kinds", false, false},
		{"bench", "lab/guest", false, true},
		{"bench/host", "power", true, true},
		{"zc/devmem", "baseline", false, true},
		{"zc/devmem", "zc/held", true, true},
		{"zc/devmem", "zc/labtest", false, true},
		{"zc/labtest", "lab/guest", true, true},
		{"power", "machine/counter", true, true},
		{"machine/counter", "results", false, true},
		{"machine/nic", "zc/held", false, false},
		{"results", "machine/counter", true, true},
		{"flow/stream", "results", false, true},
		{"lab", "machine/rtnl", true, true},
		{"lab", "results", false, false},
		{"internal/units", "flow/stream", false, false},
	} {
		if got := allowed(x.from, x.to, false); got != x.code {
			t.Errorf("%s -> %s: %v, want %v", x.from, x.to, got, x.code)
		}
		if got := allowed(x.from, x.to, true); got != x.inTest {
			t.Errorf("a test of %s -> %s: %v, want %v", x.from, x.to, got, x.inTest)
		}
	}
}

// unsafeHome are the files that may do what package unsafe is for: the ring's, and those
// that share memory with the kernel.
var unsafeHome = regexp.MustCompile(`^flow/uring/|_uapi(_test)?\.go$`)

// unsafeIn is the first thing of package unsafe in a source that is more than a question
// about a type's layout, "" for none.
func unsafeIn(t *testing.T, f file) (what string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.SkipObjectResolution)
	must(t, err)
	for _, i := range tree.Imports {
		if i.Path.Value == `"unsafe"` && i.Name != nil {
			return "import " + i.Name.Name + ` "unsafe"`
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && what == "" {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "unsafe" &&
				!slices.Contains([]string{"Sizeof", "Offsetof", "Alignof"}, s.Sel.Name) {
				what = "unsafe." + s.Sel.Name
			}
		}
		return what == ""
	})
	return what
}

// Unsafe code is where one looks for it.
func TestUnsafeHasAHome(t *testing.T) {
	home := 0
	for _, f := range tracked(t, regexp.MustCompile(`\.go$`)) {
		if !strings.Contains(f.text, `"unsafe"`) {
			continue
		}
		what := unsafeIn(t, f)
		if unsafeHome.MatchString(f.path) {
			home++
		} else if what != "" {
			t.Errorf("%s has %s: only flow/uring and files *_uapi.go may", f.path, what)
		}
	}
	if home < 10 {
		t.Errorf("only %d files have unsafe code", home)
	}
	for text, want := range map[string]string{
		"package a\nimport \"unsafe\"\nvar _ = unsafe.Sizeof(0)":       "",
		"package a\nimport \"unsafe\"\nvar _ = unsafe.Pointer(nil)":    "unsafe.Pointer",
		"package a\nimport _ \"unsafe\"\n":                             `import _ "unsafe"`,
		"package a\nimport \"unsafe\"\nfunc f(p unsafe.Pointer) { }\n": "unsafe.Pointer",
	} {
		if got := unsafeIn(t, file{"a.go", text}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
