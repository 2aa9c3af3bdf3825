// SPDX-License-Identifier: MIT

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// The marks of a test, by the function of package kind that it calls first.
const (
	timed  = "Timed"
	kernel = "Kernel"
)

// A pkg is what a folder has of tests.
type pkg struct {
	dir   string
	pure  bool
	funcs map[string]*function
}

// A function is a test, or what tests call: also a variable whose value has functions in it.
type function struct {
	name  string
	mark  string // of a test
	calls []call // to the clock, to processes and to the network, outside of synctest
	uses  map[string]bool
}

// A call is one that a kind of test may not make.
type call struct {
	pos   token.Position
	what  string
	clock bool // else it asks a kernel, a network or another process
}

// test reports whether go test runs it.
func (f *function) test() bool {
	rest, ok := strings.CutPrefix(f.name, "Test")
	return ok && f.name != "TestMain" && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

// names lists the package's functions, sorted.
func (p *pkg) names() []string { return slices.Sorted(maps.Keys(p.funcs)) }

// read parses all packages below root that have tests or help them, sorted by their folders.
func read(root string) ([]*pkg, error) {
	var packages []*pkg
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (name == "testdata" || name[0] == '.' || name == "out" || name == "bin") {
			return fs.SkipDir
		}
		dir, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		p, err := readDir(root, dir)
		if p != nil {
			packages = append(packages, p)
		}
		return err
	})
	return packages, err
}

// readDir parses the package of one folder, nil if it has nothing for tests.
func readDir(root, dir string) (*pkg, error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &pkg{dir: dir, funcs: map[string]*function{}}
	set := token.NewFileSet()
	for _, name := range files {
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "_test.go") || imports(f, "testing") {
			p.add(set, f)
		}
	}
	if len(p.funcs) == 0 {
		return nil, nil
	}
	return p, nil
}

// imports reports whether a file imports a package.
func imports(f *ast.File, path string) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"`+path+`"` })
}

func (p *pkg) add(set *token.FileSet, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.function(set, d.Name.Name, d).mark = markOf(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for _, x := range v.Values {
					p.pure = p.pure || isOf(x, "kind", "Pure")
				}
				for _, name := range v.Names {
					p.function(set, name.Name, v)
				}
			}
		}
	}
}

// function notes what a declaration calls and names. Methods of several types with one name are
// one.
func (p *pkg) function(set *token.FileSet, name string, decl ast.Node) *function {
	f := p.funcs[name]
	if f == nil {
		f = &function{name: name, uses: map[string]bool{}}
		p.funcs[name] = f
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if isOf(n.Fun, "synctest", "Test") {
				return false // its clock is its own
			}
			if what, clock := forbidden(n); what != "" {
				f.calls = append(f.calls, call{set.Position(n.Pos()), what, clock})
			}
		case *ast.Ident:
			f.uses[n.Name] = true
		}
		return true
	})
	return f
}

// markOf returns the mark of a test, "" if it has none.
func markOf(d *ast.FuncDecl) string {
	if d.Recv != nil || d.Body == nil || len(d.Body.List) == 0 {
		return ""
	}
	x, ok := d.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return ""
	}
	c, ok := x.X.(*ast.CallExpr)
	if !ok {
		return ""
	}
	for _, mark := range []string{timed, kernel} {
		if isOf(c.Fun, "kind", mark) {
			return mark
		}
	}
	return ""
}

// isOf reports whether an expression is a package's name.
func isOf(x ast.Expr, pkg, name string) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == pkg
}
