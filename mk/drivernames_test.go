// SPDX-License-Identifier: MIT

package mk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// driverFiles are the texts of machine/driver, without its tests.
func driverFiles(t *testing.T) (texts []string) {
	t.Helper()
	for _, f := range tracked(t, regexp.MustCompile(`^machine/driver/.*\.go$`)) {
		if !strings.HasSuffix(f.path, "_test.go") {
			texts = append(texts, f.text)
		}
	}
	return texts
}

// alsoOtherwise are the names of drivers that are names of something else, too, with what of.
var alsoOtherwise = map[string]string{
	"veth": "a kind of link (rtnetlink)", "netkit": "a kind of link (rtnetlink)",
	"softnic": "the lab's module, and a flag",
}

// mayName are the files that name drivers, with why.
var mayName = map[string]string{
	"profile/class_table.go": "classes the kernel's symbols by module",
	"machine/nic/irqs.go":    "netdevsim is a bus",
	"lab/qemunic.go":         "names QEMU's devices, and the modules that drive them",
}

// What is known of a driver stands in its file of machine/driver: elsewhere no code has the name of
// one. Tests, and packages for tests, do.
func TestDriversAreNamedInOnePlace(t *testing.T) {
	var names []string
	for _, text := range driverFiles(t) {
		for _, m := range regexp.MustCompile(`\bName:\s+"([\w-]+)"`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	if len(names) < 15 || !slices.Contains(names, "bnxt_en") {
		t.Fatalf("drivers: %q", names)
	}
	seen := map[string]bool{}
	for _, f := range tracked(t, regexp.MustCompile(`\.go$`)) {
		path, folder := f.path, filepath.Base(filepath.Dir(f.path))
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(folder, "test") ||
			strings.HasPrefix(path, "machine/driver/") {
			continue
		}
		for _, lit := range literals(t, f.text) {
			if !slices.Contains(names, lit) || alsoOtherwise[lit] != "" {
				continue
			}
			if seen[path] = true; mayName[path] == "" {
				t.Errorf("%s has the name of driver %s: what is known of it belongs into its file of machine/driver",
					path, lit)
			}
		}
	}
	for path := range mayName {
		if !seen[path] {
			t.Errorf("%s names no driver: take it out of the list", path)
		}
	}
}

// literals are the values of the string literals of Go code.
func literals(t *testing.T, text string) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	must(t, err)
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}
