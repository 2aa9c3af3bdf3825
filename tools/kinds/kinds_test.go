// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every test of the project fits its mark.
func TestMarks(t *testing.T) {
	packages, err := read(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 60 {
		t.Fatalf("only %d packages have tests", len(packages))
	}
	marks := map[string]map[string]bool{} // of tests, by name
	pure := 0
	for _, p := range packages {
		for _, said := range p.check() {
			t.Error(said)
		}
		if p.pure {
			pure++
		}
		for name, f := range p.funcs {
			if f.test() {
				if marks[name] == nil {
					marks[name] = map[string]bool{}
				}
				marks[name][f.mark] = true
			}
		}
	}
	if pure < 20 {
		t.Errorf("only %d packages are pure", pure)
	}
	// Lanes run timed tests by a pattern of their names, and leave them out so.
	for name, m := range marks {
		if m[timed] && len(m) > 1 {
			t.Errorf("%s is timed in one package, and not in another: give one another name", name)
		}
	}
}

// dir makes a package of a file, and returns what kinds says of it.
func said(t *testing.T, text string) []string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "p", "x_test.go"), []byte("package p\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	packages, err := read(root)
	if err != nil || len(packages) != 1 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	return packages[0].check()
}

// What does not fit its mark is found, also by way of helpers, and what fits is not.
func TestFinds(t *testing.T) {
	for _, x := range []struct{ name, text, want string }{
		{"a nap", "func TestX(t *testing.T) { time.Sleep(d) }", "x_test.go:2: time.Sleep, by TestX"},
		{"a timed nap", "func TestX(t *testing.T) { kind.Timed(t); time.Sleep(d) }", ""},
		{"a mark that comes late", "func TestX(t *testing.T) { f(); kind.Timed(t); time.Sleep(d) }",
			"time.Sleep, by TestX"},
		{"a nap of a clock of its own",
			"func TestX(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(d) }) }", ""},
		{"a helper", "func TestX(t *testing.T) { wait() }\nfunc wait() { more() }\nfunc more() { <-time.After(d) }",
			"x_test.go:4: time.After, by TestX"},
		{"a helper of a timed test alone",
			"func TestX(t *testing.T) { kind.Timed(t); wait() }\nfunc wait() { time.Sleep(d) }", ""},
		{"a helper of a timed test and another", "func TestX(t *testing.T) { kind.Timed(t); wait() }\nfunc " +
			"TestY(t *testing.T) { wait() }\nfunc wait() { time.Sleep(d) }", "by TestY"},
		{"a method", "type w int\nfunc (w) wait() { time.Sleep(d) }\nfunc TestX(t *testing.T) { w(1).wait() }",
			"x_test.go:3: time.Sleep, by TestX"},
		{"a variable", "var wait = func() { time.Sleep(d) }\nfunc TestX(t *testing.T) { wait() }",
			"time.Sleep, by TestX"},
		{"a program that a test starts", "func TestMain(m *testing.M) { time.Sleep(d) }", "by TestMain"},
		{"a short deadline", "func TestX(t *testing.T) { f(time.Now().Add(5*time.Second)) }", "of less than a minute"},
		{"a deadline that nobody knows", "func TestX(t *testing.T) { f(time.Now().Add(d)) }", "of less than a minute"},
		{"a late deadline", "func TestX(t *testing.T) { f(time.Now().Add(2 * time.Minute)) }", ""},
		{"the past", "func TestX(t *testing.T) { f(time.Now().Add(-40 * 24 * time.Hour)) }", ""},
		{"a short context", "func TestX(t *testing.T) { context.WithTimeout(ctx, 59*time.Second) }",
			"context.WithTimeout of less"},
		{"a long context", "func TestX(t *testing.T) { context.WithTimeout(ctx, time.Minute) }", ""},
		{"what spoils others' flows", "func TestX(t *testing.T) { p.MeasureCost(ctx, d) }",
			"MeasureCost, which makes others' flows invalid, by TestX"},
		{"a benchmark", "func BenchmarkX(b *testing.B) { time.Sleep(d) }", ""},
		{"a process", "func TestX(t *testing.T) { exec.Command(c) }", ""},
		{"a process of a pure test", "const _ = kind.Pure\nfunc TestX(t *testing.T) { exec.Command(c) }",
			"exec.Command, by TestX: mark the test by kind.Kernel"},
		{"a process of a marked one",
			"const _ = kind.Pure\nfunc TestX(t *testing.T) { kind.Kernel(t); exec.Command(c) }", ""},
		{"a file of the kernel's", "const _ = kind.Pure\nfunc TestX(t *testing.T) { os.ReadFile(\"/proc/self/stat\") }",
			"\"/proc/self/stat\", by TestX"},
		{"a name that a file of the kernel's has",
			"const _ = kind.Pure\nfunc TestX(t *testing.T) { f(\"/proc/self/stat\") }", ""},
		{"a clock of a kernel test", "const _ = kind.Pure\nfunc TestX(t *testing.T) { kind.Kernel(t); time.Sleep(d) }",
			"time.Sleep, by TestX: wait"},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := strings.Join(said(t, x.text), "\n")
			if x.want == "" && got != "" || !strings.Contains(got, x.want) {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}
