// SPDX-License-Identifier: MIT

package mk

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runLinked runs linked.sh in a module with packages that pass, fail and do not build, and returns
// its exit status and how each package ended, in their order.
func runLinked(t *testing.T, dir, programs string, args ...string) (status int, ends []string) {
	t.Helper()
	script, err := filepath.Abs("linked.sh")
	must(t, err)
	cmd, tmp := exec.Command(script, args...), t.TempDir()
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "TMPDIR="+tmp, "ZCBENCH_TEST_PROGRAMS="+
		programs)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Errorf("no event: %q", line)
		}
		if e.Test == "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			ends = append(ends, e.Action+" "+e.Package)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	t.Logf("%v: status %d, %v; %s", args, cmd.ProcessState.ExitCode(), ends, said.Bytes())
	return cmd.ProcessState.ExitCode(), ends
}

// linked.sh says of each package what go test -json -exec says, and leaves nothing.
func TestLinked(t *testing.T) {
	dir, programs := filepath.Join(t.TempDir(), "m"), t.TempDir() // go takes none that is a folder for temporary files
	for name, text := range map[string]string{
		"go.mod": "module m\ngo 1.24\n",
		"good/x_test.go": "package x\nimport \"testing\"\nfunc TestGood(t *testing.T) { t.Log(\"fine\") }\nfunc " +
			"TestBad(t *testing.T) { t.Fatal() }\n",
		"bad/x_test.go": "package x\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Fatal() }\n",
		"end/x_test.go": "package x\nimport (\"os\"; \"testing\")\nfunc TestGood(t *testing.T) { os.Exit(0) }\n",
		"not/x_test.go": "package x\nfunc TestGood(\n",
		"trouble":       "#!/bin/sh\n\"$@\"\nexit 125\n", // as lab exec when the kernel complains
	} {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o755))
	}
	for _, x := range []struct {
		args   string
		status int
		ends   string
	}{
		{"env|run=^TestGood$|timeout=1m|--|./good", 0, "pass m/good"},
		{"env|run=^Test|skip=^TestBad$|shuffle=on|--|./good", 0, "pass m/good"},
		{"env|run=^TestNone$|--|./good", 0, "pass m/good"},
		{"env A=b false|run=^TestGood$|--|./good", 1, "fail m/good"},
		{"/no/such/program|run=^TestGood$|--|./good", 1, "fail m/good"},
		{"../trouble|run=^TestGood$|--|./good", 1, "fail m/good"},
		{"env|run=^Test|--|./bad|./end|./not|./good", 1, "fail m/bad|fail m/end|fail m/not|fail m/good"},
		{"env|run=^Test|--", 2, ""},
	} {
		status, ends := runLinked(t, dir, programs, strings.Split(x.args, "|")...)
		if status != x.status || strings.Join(ends, "|") != x.ends {
			t.Errorf("%s: status %d, %v; want %d, %s", x.args, status, ends, x.status, x.ends)
		}
	}
	full := t.TempDir()
	must(t, os.Mkdir(filepath.Join(full, "bad.test.lock"), 0o755)) // where a program's lock file is to be
	if status, ends := runLinked(t, dir, full, "env", "run=^TestNone$", "--", "./bad", "./good"); status != 1 ||
		strings.Join(ends, "|") != "fail m/bad|pass m/good" {
		t.Errorf("where a program cannot be put: status %d, %v", status, ends)
	}
	if status, ends := runLinked(t, dir, "", "env", "run=^TestBad$", "--", "./good"); status != 1 || len(ends) != 1 {
		t.Errorf("in a folder of its own: status %d, %v", status, ends)
	}
}

// In a folder that is given a program is linked once, and one that is gone is no folder.
func TestLinkedOnce(t *testing.T) {
	dir, programs := filepath.Join(t.TempDir(), "m"), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\ngo 1.24\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "a/b/x_test.go"),
		[]byte("package x\nimport \"testing\"\nfunc TestGood(t *testing.T) {}\n"), 0o644))
	var before os.FileInfo
	for range 2 {
		if status, ends := runLinked(t, dir, programs, "env", "--", "./a/b"); status != 0 || len(ends) != 1 {
			t.Fatalf("status %d, %v", status, ends)
		}
		st, err := os.Stat(filepath.Join(programs, "a_b.test"))
		if must(t, err); before != nil && !os.SameFile(st, before) {
			t.Error("it was linked again")
		}
		before = st
	}
	gone := filepath.Join(programs, "gone")
	if status, _ := runLinked(t, dir, gone, "env", "--", "./a/b"); status == 0 {
		t.Error("a folder that is not there passes")
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("it was made")
	}
}
