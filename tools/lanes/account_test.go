// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
)

// says is a lane that prints events of tests of package p. A test is NAME:END, its output is what
// follows.
func says(t *testing.T, tests ...string) string {
	t.Helper()
	var b strings.Builder
	put := func(e event) {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("printf '%s\\n' '" + string(line) + "'\n")
	}
	end := "pass"
	for _, test := range tests {
		name, rest, _ := strings.Cut(test, ":")
		action, output, _ := strings.Cut(rest, " ")
		put(event{Action: "run", Package: "p", Test: name})
		if output != "" {
			put(event{Action: "output", Package: "p", Test: name, Output: "    x_test.go:7: " + output + "\n"})
		}
		if action != "run" { // else it does not end
			put(event{Action: action, Package: "p", Test: name, Elapsed: 0.5})
		}
		if action == "fail" {
			end = "fail"
		}
	}
	put(event{Action: "output", Package: "p", Output: "PASS\n"})
	put(event{Action: end, Package: "p", Elapsed: 1})
	if end == "fail" {
		b.WriteString("exit 1\n")
	}
	return b.String()
}

// The last lines have what failed with its log, then what was skipped by its reason, then the
// counts.
func TestSummary(t *testing.T) {
	p := script(t, says(t, "TestGood:pass", "TestBad/a:fail it is red", "TestBad:fail", "TestOff:skip needs root",
		"TestAway:skip needs root", "TestLong:skip takes minutes"))
	g := ran(t, p, []string{"a"}, nil)
	if g.ok || g.last() != "1 passed, 2 failed, 3 skipped" {
		t.Errorf("ok %v, %q", g.ok, g.last())
	}
	at := 0
	for _, want := range []string{"FAILED p [a]", "=== 2 failed\n--- p [a]: TestBad/a (0.50 s)\n", "it is red",
		"=== 3 skipped, by reason\n2: needs root\n    p [a]: TestAway, TestOff\n1: takes minutes\n"} {
		i := strings.Index(g.out[at:], want)
		if i < 0 {
			t.Fatalf("%q does not follow in:\n%s", want, g.out)
		}
		at += i
	}
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 60)
	for want, words := range map[string][]string{
		"h: a, b\n": {"a", "b"},
		"h: " + long + ",\n        " + long + ", c\n": {long, long, "c"},
		"h: " + long + long + "\n":                    {long + long},
	} {
		if got := wrap("h:", words); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What a compiler says of a package is the log of its failure.
func TestBuildFails(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\ngo 1.24\n", "x_test.go": "package x\nvar x = y\n",
		"lane.sh": "#!/bin/sh\ncd " + dir + "; go test -json .\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	g := ran(t, filepath.Join(dir, "lane.sh"), []string{"a"}, nil)
	if g.ok || g.last() != "0 passed, 1 failed, 0 skipped" || !strings.Contains(g.out, "x_test.go:2:9: undefined: y") {
		t.Errorf("ok %v: %s", g.ok, g.out)
	}
}

// A long log keeps its begin and its end.
func TestLongLog(t *testing.T) {
	var r result
	for i := range 3 * most {
		r.add(strings.Repeat("x", i%7) + "\n")
	}
	r.add("the end\n")
	if len(r.output) != most || r.output[len(r.output)-1] != "the end\n" || r.output[0] != "\n" ||
		r.output[most/2] != "    [...]\n" {
		t.Errorf("%d lines", len(r.output))
	}
}

// again is a lane whose tests end otherwise when one is run again.
func again(t *testing.T, first, second string) string {
	t.Helper()
	return script(t, `if [ -n "$`+againEnv+`" ]; then
echo "again: $`+againEnv+`" >&2
`+second+"exit 0\nfi\n"+first)
}

// A timed test that fails is run again, alone: passing then it is flaky, and the run passes.
// Nothing else is run again.
func TestFlaky(t *testing.T) {
	p := again(t, says(t, "TestOther:pass", "TestRate/x:fail too slow", "TestRate:fail"),
		says(t, "TestRate/x:pass", "TestRate:pass"))
	g := ran(t, p, []string{"a"}, nil)
	if g.ok || strings.Contains(g.errs, "again") {
		t.Errorf("a test that is not timed: ok %v: %s%s", g.ok, g.out, g.errs)
	}
	g = ran(t, script(t, says(t, "TestFirst:pass")), []string{"a"}, nil)
	if !g.ok {
		t.Errorf("not ok: %s", g.out)
	}
	g = ran(t, timedOnly(t, p), []string{"a"}, []string{"timed"})
	if !g.ok || g.last() != "3 passed, 0 failed, 0 skipped" || !strings.Contains(g.out, "flaky: TestRate\n") ||
		!strings.Contains(g.out, "too slow") || !strings.Contains(g.errs, "again: ./p TestRate\n") {
		t.Errorf("ok %v: %s%s", g.ok, g.out, g.errs)
	}
}

// timedOnly is a program whose lane a has nothing to say.
func timedOnly(t *testing.T, p string) string {
	t.Helper()
	return script(t, `[ "$1" = timed ] || exit 0; exec `+p+` "$@"`+"\n")
}

// Failing twice is a failure, and so is a program that crashed: others have not run then.
func TestFailsTwice(t *testing.T) {
	bad := says(t, "TestRate:fail too slow")
	g := ran(t, timedOnly(t, again(t, bad, bad)), []string{"a"}, []string{"timed"})
	if g.ok || g.last() != "0 passed, 1 failed, 0 skipped" || !strings.Contains(g.errs, "again: ") {
		t.Errorf("ok %v: %s%s", g.ok, g.out, g.errs)
	}
	crash := strings.ReplaceAll(says(t, "TestX:fail oh"), "    x_test.go:7: oh", "panic: oh")
	g = ran(t, timedOnly(t, again(t, crash, says(t, "TestX:pass"))), []string{"a"}, []string{"timed"})
	if g.ok || g.last() != "0 passed, 1 failed, 0 skipped" || strings.Contains(g.errs, "again: ") {
		t.Errorf("ok %v: %s%s", g.ok, g.out, g.errs)
	}
}

// At most five are run again; a sixth fails the run.
func TestMostAgain(t *testing.T) {
	var tests []string
	for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
		tests = append(tests, "Test"+name+":fail too slow")
	}
	second := `for x; do :; done; set -- $` + againEnv + "\n" + strings.ReplaceAll(says(t, "NAME:pass"), "NAME",
		`'"$2"'`)
	g := ran(t, timedOnly(t, again(t, says(t, tests...), second)), []string{"a"}, []string{"timed"})
	if g.ok || g.last() != "5 passed, 1 failed, 0 skipped" || strings.Count(g.errs, "again: ") != mostAgain ||
		!strings.Contains(g.out, "TestF is not run again") {
		t.Errorf("ok %v: %s%s", g.ok, g.out, g.errs)
	}
}

// A timed test that says it was starved is undecided, and is not run again. Of a run beside which
// nothing else ran more than two are a failure.
func TestUndecided(t *testing.T) {
	words := ":fail " + kind.Undecided + "in 1.0 s others had 1.9 CPUs"
	for n, want := range map[int]string{2: "0 passed, 0 failed, 2 skipped", 3: "0 passed, 1 failed, 3 skipped"} {
		p := timedOnly(t, again(t, says(t, []string{"TestA" + words, "TestB" + words, "TestC" + words}[:n]...), ""))
		g := ran(t, p, []string{"a"}, []string{"timed"})
		if g.ok != (n == 2) || g.last() != want || strings.Contains(g.errs, "again: ") ||
			!strings.Contains(g.out, "p [timed]: TestA: "+kind.Undecided) {
			t.Errorf("%d: ok %v: %s%s", n, g.ok, g.out, g.errs)
		}
	}
}

// A program that dies in the middle of its tests fails the run, and says what it was doing, also
// where another test of its is flaky or undecided, or has failed.
func TestDies(t *testing.T) {
	begins := says(t, "TestBegins:run it began")
	begins = begins[:strings.LastIndex(strings.TrimSuffix(begins, "\n"), "\n")+1] // without the package's end
	dies := strings.TrimSuffix(says(t, "TestRate:fail too slow"), "exit 1\n")     // and its package ends
	for name, lane := range map[string]string{
		"a package that ends too early": begins + dies + "exit 1\n",
		"a package that does not end":   dies + begins + "exit 1\n",
		"a lane that is killed":         dies + begins + "kill -9 $$\n",
		"a lane that ends early":        dies + "exit 3\n",
		"a test that does not run": `echo '{"Action":"expect","Package":"p","Test":"TestBegins"}'` + "\n" +
			dies + "exit 1\n",
		"a package that says more":       strings.Replace(dies, "PASS", "the kernel complained", 1) + "exit 1\n",
		"a package that crashed at last": strings.Replace(dies, "PASS", "panic: at the end", 1) + "exit 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := ran(t, timedOnly(t, again(t, lane, says(t, "TestRate:pass"))), []string{"a"}, []string{"timed"})
			if g.ok {
				t.Errorf("ok: %s", g.out)
			}
			if strings.Contains(lane, "TestBegins") && !strings.Contains(g.out, ": TestBegins") {
				t.Errorf("the test that did not end is not named: %s", g.out)
			}
			if g = ran(t, script(t, lane), []string{"a"}, nil); g.ok {
				t.Errorf("ok where nothing is run again: %s", g.out)
			}
		})
	}
}

// A rerun that ends with a failure is one, although the test has passed in it.
func TestAgainMustEndWell(t *testing.T) {
	p := timedOnly(t, again(t, says(t, "TestRate:fail too slow"), says(t, "TestRate:pass")+"exit 1\n"))
	if g := ran(t, p, []string{"a"}, []string{"timed"}); g.ok || g.last() != "0 passed, 1 failed, 0 skipped" &&
		!strings.Contains(g.last(), " failed") {
		t.Errorf("ok %v: %s", g.ok, g.out)
	}
}

// A test that failed while it had the CPUs, and again while it had not, has failed. Its skipped
// subtests count once.
func TestFailsQuietlyFirst(t *testing.T) {
	p := timedOnly(t, again(t, says(t, "TestRate/a:skip no a", "TestRate/b:fail too slow", "TestRate:fail"),
		says(t, "TestRate/a:skip no a", "TestRate/b:fail "+kind.Undecided+"others", "TestRate:fail")))
	if g := ran(t, p, []string{"a"}, []string{"timed"}); g.ok || g.last() != "0 passed, 2 failed, 1 skipped" {
		t.Errorf("ok %v: %s", g.ok, g.out)
	}
}

// A subtest that fails for a reason is not hidden by one that is undecided.
func TestUndecidedHidesNothing(t *testing.T) {
	words := ":fail " + kind.Undecided + "others"
	for lane, want := range map[string]string{
		says(t, "TestX/a"+words, "TestX/b:fail it is wrong", "TestX:fail"): "0 passed, 3 failed, 0 skipped",
		says(t, "TestX/a"+words, "TestX/b"+words, "TestX:fail"):            "0 passed, 0 failed, 3 skipped",
	} {
		if g := ran(t, timedOnly(t, again(t, lane, lane)), []string{"a"}, []string{"timed"}); g.last() != want {
			t.Errorf("want %s: %s", want, g.out)
		}
	}
}

// What a lane leaves behind is ended: nothing of ours runs beside timed tests.
func TestLeavesNothing(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	g := ran(t, script(t, "sleep 600 >/dev/null 2>&1 & echo $! >"+pids+"\n"+says(t, "TestGood:pass")), []string{"a"},
		nil)
	b, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(b))
	await.Until(t, "the end of process "+pid, func() bool { return !alive(pid) })
	if !strings.Contains(g.errs, "it left processes behind") {
		t.Errorf("nothing is said: %s", g.errs)
	}
}

// The closing line is read by machines, in one form.
func TestClosingLine(t *testing.T) {
	g := ran(t, script(t, says(t, "TestGood:pass")), []string{"a"}, nil)
	if !g.ok || g.last() != "1 passed, 0 failed, 0 skipped" {
		t.Errorf("ok %v, %q", g.ok, g.last())
	}
}

// What was asked wrongly is said, with status 2.
func TestUsage(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"prog"}, {"prog", "+a"}, {"--", "timed"}} {
		cmd := exec.Command(exe, args...)
		cmd.Env = append(os.Environ(), mainEnv+"=1")
		said, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(said), "usage: lanes") {
			t.Errorf("%q: %v, %s", args, cmd.ProcessState, said)
		}
	}
}

// mainEnv makes this test program lanes.
const mainEnv = "ZCBENCH_TEST_LANES_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		os.Exit(runMain())
	}
	os.Exit(m.Run())
}
