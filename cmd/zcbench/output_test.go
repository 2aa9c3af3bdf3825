// SPDX-License-Identifier: MIT

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// past are the places that may write past the filter and the account of all output.
var past = map[string]string{
	"cmd/internal/cli/exit.go":  "makes the filter",
	"cmd/zcbench/agent.go":      "speaks with a controller",
	"cmd/zcbench/lab_inside.go": "gives them to a program in the lab's guest",
	"machine/lease/live.go":     "while a panic goes through, of this host's own settings",
	"lab/options.go":            "where the caller names no writers; the commands do",
	"lab/up.go":                 "where the caller names no writers; the commands do",
	"lab/host.go":               "gives them to the command of lab up",
	"zc/zcrx/process.go":        "gives it to the process of a ring, for what the runtime says of a crash",
	"lab/guest/main.go":         "init of the lab's guest, on its serial line",
}

// Whatever the commands print passes one writer, which makes it harmless to terminals and
// knows when it was lost.
func TestOneOutput(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.Dir}}\t{{join .GoFiles \" \"}}{{end}}",
		"github.com/zcbench/zcbench/cmd/zcbench", "github.com/zcbench/zcbench/cmd/zcrecv",
		"github.com/zcbench/zcbench/cmd/zcsend").Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	files := 0
	for line := range strings.Lines(string(list)) {
		dir, names, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if rel, err := filepath.Rel(root, dir); err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		for _, name := range strings.Fields(names) {
			files++
			path, _ := filepath.Rel(root, filepath.Join(dir, name))
			for _, at := range printsPast(t, filepath.Join(dir, name)) {
				seen[path] = true
				if past[path] == "" {
					t.Errorf("%s:%s: use cmd.OutOrStdout() or cmd.ErrOrStderr()", path, at)
				}
			}
		}
	}
	if files < 100 {
		t.Errorf("looked at %d files only", files)
	}
	for path := range past {
		if !seen[path] {
			t.Errorf("%s no longer writes past the filter", path)
		}
	}
}

// printsPast are the lines of a file that name the process's own output.
func printsPast(t *testing.T, path string) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{"os.Stdout", "os.Stderr", "fmt.Print", "fmt.Printf", "fmt.Println", "log.Print", "log.Printf",
		"log.Println", "log.Fatal", "log.Fatalf", "log.Default", "slog.Default"}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(words, x.Name+"."+n.Sel.Name) {
				out = append(out, set.Position(n.Pos()).String()[len(path)+1:]+": "+x.Name+"."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if x, ok := n.Fun.(*ast.Ident); ok && (x.Name == "print" || x.Name == "println") {
				out = append(out, set.Position(n.Pos()).String()[len(path)+1:]+": "+x.Name)
			}
		}
		return true
	})
	return out
}
