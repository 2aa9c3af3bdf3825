// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// clocks are the calls of package time that only a timed test makes. Others wait with package
// await.
var clocks = []string{"Sleep", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// spoilers have the kernel time eBPF programs: flows of other tests must not run meanwhile.
var spoilers = []string{"EnableStats", "MeasureCost"}

// least is the shortest deadline of a test that is not timed: one that only a hang reaches.
const least = 60 // seconds

// outside are what a pure test does not call: it asks a network, a kernel or another process. An
// empty list stands for a whole package.
var outside = map[string][]string{
	"exec": nil, "unix": nil, "syscall": nil, "veth": nil, "guest": nil, "built": nil, "program": nil,
	"net": {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "Listen", "ListenTCP", "ListenUDP", "ListenUnix",
		"ListenPacket", "FileConn", "FileListener"},
	"os": {"Pipe", "StartProcess", "Geteuid", "Getuid"},
}

// forbidden names what an unmarked test may not call, "" for anything else.
func forbidden(c *ast.CallExpr) (what string, clock bool) {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	name := s.Sel.Name
	if slices.Contains(spoilers, name) {
		return name + ", which makes others' flows invalid", true
	}
	if id, ok := s.X.(*ast.Ident); ok {
		names, out := outside[id.Name]
		switch {
		case id.Name == "time" && slices.Contains(clocks, name):
			return "time." + name, true
		case id.Name == "context" && strings.HasPrefix(name, "WithTimeout") && len(c.Args) > 1 && !late(c.Args[1]):
			return "context." + name + " of less than a minute", true
		case out && (names == nil || slices.Contains(names, name)):
			return id.Name + "." + name, false
		}
		if file := kernelFile(id.Name, name, c.Args); file != "" {
			return file, false
		}
	}
	if in, ok := s.X.(*ast.CallExpr); ok && isOf(in.Fun, "time", "Now") && name == "Add" && len(c.Args) == 1 &&
		!late(c.Args[0]) {
		return "time.Now().Add of less than a minute", true
	}
	return "", false
}

// readers are those of package os whose argument may be a file of the kernel's.
var readers = []string{"ReadFile", "Open", "OpenFile", "ReadDir", "Stat", "Lstat", "Readlink"}

// kernelFile returns the file of the kernel's that a call reads, "" for any other.
func kernelFile(pkg, name string, args []ast.Expr) string {
	if pkg != "os" || !slices.Contains(readers, name) || len(args) == 0 {
		return ""
	}
	file, ok := args[0].(*ast.BasicLit)
	if ok && (strings.HasPrefix(file.Value, `"/proc/`) || strings.HasPrefix(file.Value, `"/sys/`)) {
		return file.Value
	}
	return ""
}

// late reports whether a duration is at least a minute, or in the past. One that is not written in
// numbers is not.
func late(x ast.Expr) bool {
	s, ok := seconds(x)
	return ok && (s >= least || s < 0)
}

// units are those of package time that tests use, in seconds.
var units = map[string]float64{"Nanosecond": 1e-9, "Microsecond": 1e-6, "Millisecond": 1e-3, "Second": 1, "Minute": 60,
	"Hour": 3600}

// seconds evaluates a duration that is written as a product of numbers and units.
func seconds(x ast.Expr) (float64, bool) {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return seconds(x.X)
	case *ast.UnaryExpr:
		v, ok := seconds(x.X)
		return -v, ok && x.Op == token.SUB
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(x.Value, 64)
		return v, err == nil
	case *ast.SelectorExpr:
		u, known := units[x.Sel.Name]
		return u, known && isOf(x, "time", x.Sel.Name)
	case *ast.BinaryExpr:
		a, ok := seconds(x.X)
		b, ok2 := seconds(x.Y)
		switch x.Op {
		case token.MUL:
			return a * b, ok && ok2
		case token.QUO:
			return a / b, ok && ok2 && b != 0
		}
	}
	return 0, false
}

// check lists what does not fit, a line each: "file:line: what, by which test".
func (p *pkg) check() (said []string) {
	if p.dir == "internal/await" || p.dir == "internal/asleep" { // those who wait for all
		return nil
	}
	seen := map[string]bool{}
	for _, name := range p.names() {
		f := p.funcs[name]
		if !f.test() && name != "TestMain" && !p.helps(f) {
			continue
		}
		if f.mark == timed {
			continue
		}
		for _, c := range p.reached(f) {
			if !c.clock && (!p.pure || f.mark == kernel || !f.test()) { // what helps may be for kernel tests
				continue
			}
			rule := "wait by package internal/await, or mark the test by kind.Timed"
			if !c.clock {
				rule = "mark the test by kind.Kernel, or do not call the package's tests pure"
			}
			line := fmt.Sprintf("%s:%d: %s", c.pos.Filename, c.pos.Line, c.what)
			if !seen[line] {
				seen[line] = true
				said = append(said, fmt.Sprintf("%s, by %s: %s", line, name, rule))
			}
		}
	}
	return said
}

// helps reports whether other packages' tests may call a function.
func (p *pkg) helps(f *function) bool {
	return strings.HasSuffix(p.dir, "test") && ast.IsExported(f.name) && !strings.HasPrefix(f.name, "Benchmark")
}

// reached lists what a function calls of what is forbidden, by way of others of its package, too.
func (p *pkg) reached(f *function) (calls []call) {
	todo, seen := []*function{f}, map[string]bool{f.name: true}
	for len(todo) > 0 {
		f := todo[0]
		todo = append(todo[1:], nil)[:len(todo)-1]
		calls = append(calls, f.calls...)
		for name := range f.uses {
			if g := p.funcs[name]; g != nil && !seen[name] && !g.test() {
				seen[name] = true
				todo = append(todo, g)
			}
		}
	}
	return calls
}
