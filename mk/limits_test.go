// SPDX-License-Identifier: MIT

package mk

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bounds are those of one reader of what others wrote. What is in backquotes is a constant, a
// folder and its name; the page has its value.
type bounds struct{ reads, bytes, items, steps, depth string }

// Depth is that of encoding/json, which refuses more; elements.Count does not recurse.
const jsonDepth = "10,000 (encoding/json)"

// readers are all that read files of others, or words of another host.
var readers = []bounds{
	{"journal of a results folder", "a line `results.maxLine`, to the end of a longer one `results.mostSkipped`; " +
		"in memory `results.roomPerByte` for each that was " +
		"read, besides `results.leastRoom`",
		"the plan's lists `results.headerBounds.Elements`, cells `results.mostHeaderCells`; a run's lists " +
			"`results.recordBounds.Elements`, points of series `results.recordBounds.Points`; details " +
			"`results.detailsBounds.Elements` and `results.detailsBounds.Points`; lines that are no runs " +
			"`results.mostBad`", "one look at each byte", jsonDepth},
	{"CSV files of figures", "a file `results.mostTableBytes`, a row `results.mostRowBytes`; in memory as a journal",
		"by the bytes", "one look at each byte", "0"},
	{"snapshots of hosts (environment)",
		"a file `machine/survey.MaxBytes`, of a folder `results/environment.mostBytes`",
		"facts `machine/survey.maxFacts`, files of a folder `results/environment.mostFiles`",
		"one look at each byte", "0"},
	{"a profile", "packed `profile.MaxPacked`, unpacked `profile.maxUnpacked`", "parts `profile.mostParts`",
		"functions in its stacks `profile.mostSteps`", "by the parts"},
	{"profiles of one graph or report", "unpacked `bench.mostProfileBytes`", "files `bench.mostProfiles`",
		"functions in their stacks `bench.mostProfileSteps`", "by the parts"},
	{"a flame graph", "names `profile.mostNames`",
		"call sites `profile.mostNodes`; of a report `bench.mostGraphs` graphs, `bench.mostBoxes` boxes",
		"n log n of the sites", "by the sites"},
	{"folders of a fleet", "facts `results/fleet.maxKnown`", "folders `results/fleet.maxFolders`, runs of each " +
		"`results/fleet.maxRuns`, different cells `results/fleet.maxCells`, cells with figures " +
		"`results/fleet.maxFigures`", "n log n of the cells", "as a journal"},
	{"two folders that are compared", "as a journal", "pairs of cells `results/compare.mostPairs`",
		"cells looked at one by one `results/compare.mostHeld`, runs beside others `results/compare.mostBeside`",
		"as a journal"},
	{"what a report draws", "as a journal", "pairs of cells `results/report.mostCompared`, cells of a plot " +
		"`results/report.mostDrawn` and of a table of the page `results/report.mostShown`",
		"runs beside those of another cell, for a ranking, `results/report.mostHeld`", "as a journal"},
	{"an experiment file", "`plan/matrix.maxFile`, lines `plan/matrix.maxLines`",
		"keys `plan/matrix.maxKeys`, keys, values and signs `plan/matrix.maxTokens`",
		"cells `plan/matrix.maxCells`, combinations `plan/matrix.maxCombinations`, runs `plan/matrix.maxRuns`",
		"`plan/matrix.maxDepth`"},
	{"an agent's answer", "`bench/wire.MaxLine`, a text `bench/wire.mostText`",
		"elements of lists `bench/wire.mostRead`, metrics `bench/wire.mostMetrics`, warnings `bench/wire.mostWarnings`",
		"one look at each byte", jsonDepth},
	{"a file of zcbench share (results/hardware)", "`results/share.MaxBytes`",
		"cells `results/share.maxCells`, facts " +
			"of a host `results/share.maxFacts`, figures of an end `results/share.maxFigures`",
		"one look at each byte", jsonDepth},
	{"a profile that an agent sends", "`bench/wire.MaxProfile`", "as a profile", "as a profile", "by the parts"},
	{"a journal of a host's settings", "`machine/lease.maxJournal`", "by the bytes", "one look at each byte",
		jsonDepth},
	{"a record of a host", "`internal/tape.MaxBytes`, a question `internal/tape.maxAsked`",
		"answers `internal/tape.maxAnswers`", "one look at each byte", jsonDepth},
	{"a power log", "a line `power.maxLogLine`", "samples `power.mostSamples`", "one look at each byte", "0"},
	{"a Redfish service", "an answer `power.mostBody`", "chassis `power.mostChassis`", "one look at each byte",
		jsonDepth},
	{"a command that reads power", "a line `power.mostLine`, what it says of errors `power.mostSaid`",
		"samples `power.mostSamples`", "one look at each byte", "0"},
	{"files of the kernel's selftests", "`cmd/internal/netconfig.maxFile`", "by the bytes", "one look at each byte",
		"0"},
	{"the kernel's symbols", "a line `machine/kallsyms.maxLine`, names `machine/kallsyms.maxNames`",
		"`machine/kallsyms.maxSymbols`", "n log n of the symbols", "0"},
	{"a program's symbols (ELF)", "names `profile/elfsym.maxNames`, a table `profile/elfsym.maxTable`",
		"symbols `profile/elfsym.maxSymbols`, segments `profile/elfsym.maxSegments`", "n log n of the symbols", "0"},
}

// docs/limits.md is made of the list, and of the constants' values:
//
//	go test ./mk -run TestLimits -update
func TestLimits(t *testing.T) {
	const path = "../docs/limits.md"
	var b strings.Builder
	b.WriteString("# How much is read of what others wrote\n\n" +
		"People pass results folders, profiles, experiments and records around, and far hosts may say\n" +
		"anything. Each reader has four bounds: bytes, items, steps of work, and depth of nesting. It\n" +
		"refuses what is beyond them, or leaves it out and says so, with the file and line. The work grows\n" +
		"no faster than n log n with what was read. This page is generated from the constants of the code,\n" +
		"by a test of `mk`.\n")
	for _, r := range readers {
		for _, x := range []string{r.bytes, r.items, r.steps, r.depth} {
			if x == "" {
				t.Errorf("%s has a kind of bound that nobody named", r.reads)
			}
		}
		fmt.Fprintf(&b, "\n**%s**\n\n", strings.ToUpper(r.reads[:1])+r.reads[1:])
		for _, x := range []struct{ kind, text string }{{"bytes", r.bytes}, {"items", r.items}, {"steps", r.steps},
			{"depth", r.depth}} {
			b.WriteString(wrapped("- "+x.kind+": "+valued(t, x.text, x.kind == "bytes"), 98))
		}
	}
	want := b.String()
	if got, err := os.ReadFile(path); err == nil && string(got) == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the constants say: go test ./mk -run TestLimits -update", path)
	}
	must(t, os.WriteFile(path, []byte(want), 0o644))
}

// wrapped breaks a line of a list.
func wrapped(text string, width int) string {
	var b strings.Builder
	n := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case n+1+len(w) > width:
			b.WriteString("\n  ")
			n = 2
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String() + "\n"
}

var inQuotes = regexp.MustCompile("`([^`]+)`")

// valued puts constants' values in the places of their names.
func valued(t *testing.T, text string, bytes bool) string {
	return inQuotes.ReplaceAllStringFunc(text, func(s string) string {
		s = strings.Trim(s, "`")
		v, ok := value(filepath.Dir(s), filepath.Base(s))
		if !ok {
			t.Errorf("there is no constant %s", s)
		}
		name := s[strings.LastIndex(s, "/")+1:]
		if _, c, _ := strings.Cut(name, "."); bytes && !strings.Contains(c, "Lines") &&
			!strings.Contains(c, "PerByte") && v >= 1<<10 {
			return inBytes(v)
		}
		return grouped(v)
	})
}

func inBytes(v int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if v%u.of == 0 {
			return fmt.Sprintf("%d %s", v/u.of, u.name)
		}
	}
	return grouped(v) + " bytes"
}

// grouped writes a number with a comma before each three digits.
func grouped(v int64) string {
	s := strconv.FormatInt(v, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// value finds the value of package.Constant, or of package.variable.Field, below a folder.
func value(folder, name string) (int64, bool) {
	pkg, name, _ := strings.Cut(name, ".")
	name, field, _ := strings.Cut(name, ".")
	files, _ := filepath.Glob(filepath.Join("..", folder, pkg, "*.go"))
	all := map[string]ast.Expr{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return 0, false
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
					for i, n := range v.Names {
						all[n.Name] = v.Values[i]
					}
				}
			}
		}
	}
	v := evaluated(all[name], field, all)
	if v == nil {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(v))
}

// evaluated is the value of an expression of literals and constants of its package; nil: it has
// something else in it.
func evaluated(e ast.Expr, field string, all map[string]ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.Ident:
		return evaluated(all[e.Name], "", all)
	case *ast.ParenExpr:
		return evaluated(e.X, field, all)
	case *ast.CompositeLit:
		for _, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == field {
				return evaluated(kv.Value, "", all)
			}
		}
	case *ast.BinaryExpr:
		x, y := evaluated(e.X, "", all), evaluated(e.Y, "", all)
		if x == nil || y == nil {
			return nil
		}
		if n, ok := constant.Uint64Val(y); e.Op == token.SHL && ok {
			return constant.Shift(x, e.Op, uint(n))
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	return nil
}
