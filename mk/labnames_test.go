// SPDX-License-Identifier: MIT

package mk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scripts is what the scripts here say: which of them has a pattern is theirs.
func scripts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	names, err := filepath.Glob("*.sh")
	must(t, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		must(t, err)
		all.Write(b)
	}
	return all.String()
}

// assigned are the alternatives of a pattern that a script keeps in a variable, and of what later
// lines add to it.
func assigned(t *testing.T, name string) []*regexp.Regexp {
	t.Helper()
	var all []*regexp.Regexp
	for _, m := range regexp.MustCompile(`(?m)^`+name+`\+?='\|?([^']+)'$`).FindAllStringSubmatch(scripts(t), -1) {
		for _, p := range strings.Split(m[1], "|") {
			all = append(all, regexp.MustCompile(p))
		}
	}
	if all == nil {
		t.Fatalf("no script sets %s", name)
	}
	return all
}

// labPackages are the folders whose tests run in the lab.
func labPackages(t *testing.T) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^lab_packages=["(]([^")]+)[")]$`).FindStringSubmatch(scripts(t))
	if m == nil {
		t.Fatal("no script sets lab_packages")
	}
	return strings.Fields(m[1])
}

// testFuncs are a package's tests and what their files have besides, by name.
func testFuncs(t *testing.T, dir string) map[string]*ast.FuncDecl {
	t.Helper()
	if all := parsed[dir]; all != nil {
		return all
	}
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	must(t, err)
	all := map[string]*ast.FuncDecl{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all[fn.Name.Name] = fn
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no tests", dir)
	}
	parsed[dir] = all
	return all
}

// parsed are those that were asked for, by folder: each pattern asks for all.
var parsed = map[string]map[string]*ast.FuncDecl{}

// asksTheGuest reports whether a function, or one that it calls, looks at package
// lab/guest: it knows what it finds there.
func asksTheGuest(all map[string]*ast.FuncDecl, name string, seen map[string]bool) (asks bool) {
	if seen[name] {
		return false
	}
	seen[name] = true
	ast.Inspect(all[name], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "guest" {
				asks = true
			}
		case *ast.Ident:
			if _, ok := all[n.Name]; ok && asksTheGuest(all, n.Name, seen) {
				asks = true
			}
		}
		return !asks
	})
	return asks
}

// What runs on this machine alone is there, and asks nothing of the lab's guest.
func TestHostOnlyNeedsNoGuest(t *testing.T) {
	patterns := assigned(t, "host_only")
	hits := make([]int, len(patterns))
	for _, dir := range labPackages(t) {
		all := testFuncs(t, dir)
		for name := range all {
			for i, p := range patterns {
				if !strings.HasPrefix(name, "Test") || !p.MatchString(name) {
					continue
				}
				hits[i]++
				if asksTheGuest(all, name, map[string]bool{}) {
					t.Errorf("%s: %s asks for the lab's guest, where it does not run", dir, name)
				}
			}
		}
	}
	for i, n := range hits {
		if n == 0 {
			t.Errorf("%s is no test of a package that runs in the lab", patterns[i])
		}
	}
}

// What the short run has on this machine and in no guest is there, in a package of lane host
// alone, and no other list says anything of it.
func TestHereToo(t *testing.T) {
	patterns := assigned(t, "here_too")
	hits := make([]int, len(patterns))
	for _, dir := range labPackages(t) {
		for name := range testFuncs(t, dir) {
			for i, p := range patterns {
				if !p.MatchString(name) {
					continue
				}
				hits[i]++
				for _, list := range []string{"sequential", "simulated"} {
					if slices.Contains(lanePackages(t, list), dir) {
						t.Errorf("%s: %s runs in no lane host: the package is in the list %s", dir, name, list)
					}
				}
				for _, list := range []string{"in_lab", "not_in_lab", "host_only", "own_boot", "not_on_backports"} {
					if slices.ContainsFunc(assigned(t, list),
						func(p *regexp.Regexp) bool { return p.MatchString(name) }) {
						t.Errorf("%s: %s is in the list %s as well", dir, name, list)
					}
				}
			}
		}
	}
	for i, n := range hits {
		if n == 0 {
			t.Errorf("%s is no test of a package that runs in the lab", patterns[i])
		}
	}
}

// What the short run races of package results is there.
func TestThreadedAreThere(t *testing.T) {
	all := testFuncs(t, "./results")
	for _, p := range assigned(t, "threaded") {
		if all[strings.Trim(p.String(), "^$")] == nil {
			t.Errorf("%s is no test of results", p)
		}
	}
}

// asksTheGuest sees through the helpers of a package.
func TestAsksTheGuest(t *testing.T) {
	all := testFuncs(t, "./machine/lease")
	for name, want := range map[string]bool{"TestLabKill": true, "TestLabChanges": true, "TestJournalDamaged": false} {
		if all[name] == nil || asksTheGuest(all, name, map[string]bool{}) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

// What the long run leaves out on one kernel is there, and runs on the other; what the short one
// leaves out on the newest is there, too.
func TestOneKernelOfTwo(t *testing.T) {
	t.Run("short", func(t *testing.T) { oneKernelOfTwo(t, "not_on_backports") })
	t.Run("long", func(t *testing.T) { oneKernelOfTwo(t, "ours_not_on_sid", "ours_not_on_backports") })
}

func oneKernelOfTwo(t *testing.T, names ...string) {
	t.Helper()
	lists := map[string][]*regexp.Regexp{}
	for _, name := range names {
		lists[name] = assigned(t, name)
	}
	everywhere := append(append(assigned(t, "not_in_lab"), assigned(t, "host_only")...), assigned(t, "own_boot")...)
	hits := map[string]int{}
	for _, dir := range labPackages(t) {
		for name := range testFuncs(t, dir) {
			var left []string
			for list, patterns := range lists {
				for _, p := range patterns {
					if p.MatchString(name) {
						left, hits[p.String()] = append(left, list), hits[p.String()]+1
					}
				}
			}
			if len(left) > 1 {
				t.Errorf("%s: %s is left out on both kernels", dir, name)
			}
			for _, p := range everywhere {
				if len(left) > 0 && p.MatchString(name) {
					t.Errorf("%s: %s is left out on every kernel already", dir, name)
				}
			}
		}
	}
	for list, patterns := range lists {
		for _, p := range patterns {
			if hits[p.String()] == 0 {
				t.Errorf("%s: %s is no test of a package that runs in the lab", list, p)
			}
		}
	}
}

// Each kind of flow of 1 GiB runs on one kernel: none is left out on both, and none on neither.
func TestGiantsOnOneKernel(t *testing.T) {
	kinds := map[string]int{}
	for file, kind := range map[string]string{
		"../zc/zcrx/lab_test.go":   `(?m)^\t\t\{"([\w ]+)", stream\.NICQueue\{`,
		"../zc/devmem/lab_test.go": `(?m)^\t"([\w-]+)": +(?:nil|labtest\.TXOpener)`,
	} {
		b, err := os.ReadFile(file)
		must(t, err)
		for _, m := range regexp.MustCompile(kind).FindAllStringSubmatch(string(b), -1) {
			kinds[strings.ReplaceAll(m[1], " ", "_")] = 0
		}
	}
	if len(kinds) != 8 {
		t.Errorf("%d kinds of flows of 1 GiB: %v", len(kinds), kinds)
	}
	left := regexp.MustCompile(`(?m)^giants_not_on_\w+='\^TestLabGiB\$/\^\(([^)]+)\)`).FindAllStringSubmatch(scripts(t),
		-1)
	if len(left) != 2 {
		t.Fatalf("%d lists of flows of 1 GiB: %q", len(left), left)
	}
	for _, l := range left {
		for _, name := range strings.Split(l[1], "|") {
			if _, known := kinds[name]; !known {
				t.Errorf("there is no flow of 1 GiB called %s", name)
			}
			kinds[name]++
		}
	}
	for name, n := range kinds {
		if n != 1 {
			t.Errorf("%s is left out on %d kernels", name, n)
		}
	}
}

// What the long run leaves out of round trips on one kernel are some of their modes, and not the
// one that the short run has.
func TestTripsLeftOut(t *testing.T) {
	b, err := os.ReadFile("../zc/zcrx/lab_trips_test.go")
	must(t, err)
	modes := regexp.MustCompile(`range \[\]string\{zcrx\.Mode, ([^}]+)\}`).FindSubmatch(b)
	left := regexp.MustCompile(`(?m)^trips_not_on_sid='\^TestLabTrips\$/\^\(([^)]+)\)\$'$`).FindStringSubmatch(
		scripts(t))
	if modes == nil || left == nil {
		t.Fatalf("modes %q, left out %q", modes, left)
	}
	if want := `"` + strings.ReplaceAll(left[1], "|", `", "`) + `"`; string(modes[1]) != want {
		t.Errorf("the test has %s, left out are %s", modes[1], want)
	}
}

// A pattern whose test has another name now would leave out nothing, or run nothing and
// say ok.
func TestPatternsHit(t *testing.T) {
	dirs := append(labPackages(t), "./machine/counter", "./cmd/zcbench", "./bench", "./bench/endpoint", "./packet/xdp")
	for _, list := range []string{"in_lab", "not_in_lab", "own_boot", "upper", "nodes", "pollers"} {
		for _, p := range assigned(t, list) {
			hits := 0
			for _, dir := range dirs {
				for name := range testFuncs(t, dir) {
					if p.MatchString(name) {
						hits++
					}
				}
			}
			if hits == 0 {
				t.Errorf("%s: %s is no test", list, p)
			}
		}
	}
}

// Every test that a script here names is there: in a pattern that names none of them nothing runs,
// and that passes.
func TestScriptsNameTests(t *testing.T) {
	all := map[string]bool{}
	for _, b := range testsOf(t, []string{"*", "*/*", "*/*/*"}) {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllSubmatch(b, -1) {
			all[string(m[1])] = true
		}
	}
	said := scripts(t)
	for _, name := range []string{"../Makefile", "lab.mk", "package.mk", "field.mk"} {
		b, err := os.ReadFile(name)
		must(t, err)
		said += strings.ReplaceAll(string(b), "$$", "$")
	}
	named := regexp.MustCompile(`\^(Test\w+)(\$?)`).FindAllStringSubmatch(said, -1)
	if len(named) < 80 || len(all) < 1000 {
		t.Fatalf("%d patterns, %d tests", len(named), len(all))
	}
	for _, m := range named {
		if m[2] == "$" && all[m[1]] {
			continue
		}
		if m[2] == "$" || !slices.ContainsFunc(slices.Collect(maps.Keys(all)),
			func(name string) bool { return strings.HasPrefix(name, m[1]) }) {
			t.Errorf("%s%s is no test", m[1], m[2])
		}
	}
}

// Tests that lanes of this machine leave out, because they run in the lab, are in packages that
// lanes of the lab name.
func TestEachOfTheLabHasALane(t *testing.T) {
	var said string
	for _, name := range []string{"lane.sh", "imitated.sh", "real.sh"} {
		b, err := os.ReadFile(name)
		must(t, err)
		said += string(b)
	}
	lab := regexp.MustCompile(`(?s)\nlab\(\) \{.*`).FindString(said) + strings.Join(labPackages(t), " ")
	named := map[string]bool{"./lab": true}
	for _, m := range regexp.MustCompile(`\./[\w/]+`).FindAllString(lab, -1) {
		named[m] = true
	}
	tests := 0
	for name, b := range testsOf(t, []string{"*", "*/*", "*/*/*"}) {
		dir := "./" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../")
		if !regexp.MustCompile(`(?m)^func TestLab\w*\(t \*testing\.T\)`).Match(b) {
			continue
		}
		if tests++; !named[dir] {
			t.Errorf("%s has tests of the lab, and no lane there runs them", name)
		}
	}
	if tests < 20 {
		t.Errorf("only %d files have tests of the lab", tests)
	}
}
