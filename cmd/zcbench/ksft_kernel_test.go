// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/ktap/ktaptest"
)

// kunitEnv names the folder tools/testing/kunit of a kernel's source.
const kunitEnv = "ZCBENCH_KUNIT"

// kunit finds the kernel's parser: where the variable says, or in a source below /usr/src.
func kunit() string {
	found, _ := filepath.Glob("/usr/src/*/tools/testing/kunit")
	for _, d := range append([]string{os.Getenv(kunitEnv)}, found...) {
		if _, err := os.Stat(filepath.Join(d, "kunit_parser.py")); d != "" && err == nil {
			return d
		}
	}
	return ""
}

// drive has the parser read standard input, and says of each subtest what it is, on standard error:
// the parser prints too.
const drive = `
import inspect, io, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import kunit_parser
args = [sys.stdin.read().splitlines()]
if len(inspect.signature(kunit_parser.parse_run_tests).parameters) > 1:
    import kunit_printer
    args.append(kunit_printer.Printer(io.StringIO()))
whole = kunit_parser.parse_run_tests(*args)
for t in whole.subtests:
    print(t.name, t.status.name, file=sys.stderr)
print("errors", whole.counts.errors, file=sys.stderr)
`

// kernelsParser requires that the kernel's own parser sees the same subtests. It knows no XFAIL:
// such a subtest has passed.
func kernelsParser(t *testing.T, output string, all []ktaptest.Subtest) {
	t.Run("kernel's parser", func(t *testing.T) {
		dir := kunit()
		python, err := exec.LookPath("python3")
		if dir == "" || err != nil {
			t.Skip("no kunit_parser.py of the kernel's source, or no python3: unpack linux-source below " +
				"/usr/src, or name tools/testing/kunit of one by " + kunitEnv)
		}
		cmd := exec.Command(python, "-c", drive, dir)
		cmd.Stdin = strings.NewReader(output)
		var got strings.Builder
		cmd.Stderr = &got
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, &got)
		}
		want := ""
		for _, s := range all {
			want += fmt.Sprintln(s.Name, map[string]string{"ok": "SUCCESS", "XFAIL": "SUCCESS", "SKIP": "SKIPPED",
				"not ok": "FAILURE"}[s.Status()])
		}
		if d := cmp.Diff(want+"errors 0\n", got.String()); d != "" {
			t.Errorf("%s\n%s", d, output)
		}
	})
}

// Each status is what the kernel's parser takes it for.
func TestKernelsParser(t *testing.T) {
	out := "KTAP version 1\n1..4\n# zcbench\nok 1 a/b\n# c: wrong bytes\nnot ok 2 c\nok 3 d # SKIP no queue\nok " +
		"4 e # XFAIL copied\n# Totals: pass:1 fail:1 xfail:1 xpass:0 skip:1 error:0\n"
	all, err := ktaptest.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	kernelsParser(t, out, all)
}
