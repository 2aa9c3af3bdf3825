// SPDX-License-Identifier: MIT

package judge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Each rule says what it looks at, is asked somewhere, and has a test; the docs tell of each gate
// and flag, and there is a rule for each limit.
func TestRules(t *testing.T) {
	text := func(pattern string) string {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		var all strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
		return all.String()
	}
	tests, endTests, docs := text("*_test.go"), text("end/*_test.go"), text("../docs/*.md")
	var names []string
	for _, r := range end.Rules {
		names = append(names, r.Name)
		if r.Looks == "" || r.Class == "" || !strings.Contains(docs, r.Name) ||
			!strings.Contains(endTests, "\nfunc "+r.Test+"(t *testing.T)") {
			t.Errorf("%s of an end: looks at %q, class %q, test %s", r.Name, r.Looks, r.Class, r.Test)
		}
	}
	for _, r := range rules {
		names = append(names, r.Name)
		if r.Looks == "" || r.both == nil && r.run == nil && r.mark == nil &&
			r.cell == nil && r.each == nil {
			t.Errorf("%s: looks at %q, and is not asked", r.Name, r.Looks)
		}
		if !strings.Contains(tests, "\nfunc "+r.Test+"(t *testing.T)") {
			t.Errorf("%s: no test %s", r.Name, r.Test)
		}
		if !strings.Contains(docs, r.Name) {
			t.Errorf("%s is not in docs", r.Name)
		}
		if (r.both == nil && r.mark == nil) != (r.Class != "") && r.Name != plan.ActedGate {
			t.Errorf("%s: class %q", r.Name, r.Class)
		}
		marks := r.mark != nil || r.Class == plan.ByOutcome
		if marks && r.Name != plan.ActedGate && r.Name != plan.LimitGate && results.MarkOf(flagOf(r.Name)) == nil {
			t.Errorf("%s marks runs, and is not in results.Marks", r.Name)
		}
	}
	for _, l := range plan.Limits {
		if of := l.Flags(); !slices.Contains(names, l.Key) &&
			!slices.Contains(names, of[0]) {
			t.Errorf("no rule is %s", l.Key)
		}
	}
}

// flagOf returns the flag of runs that a rule sets: its name, but where a limit says another one.
func flagOf(rule string) string {
	for i := range plan.Limits {
		if l := &plan.Limits[i]; l.Key == rule {
			return l.Flags()[0]
		}
	}
	return rule
}
