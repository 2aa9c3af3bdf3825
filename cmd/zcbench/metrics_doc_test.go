// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documented are the metrics of docs/metrics.md. A word in capitals stands for any.
func documented(t *testing.T) *regexp.Regexp {
	t.Helper()
	b, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, line := range strings.Split(string(b), "\n") {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range regexp.MustCompile("`([a-zA-Z0-9_]+)`").FindAllStringSubmatch(names, -1) {
			all = append(all, regexp.MustCompile("[A-Z]+").ReplaceAllString(m[1], "[a-z0-9_]+"))
		}
	}
	if len(all) < 100 {
		t.Fatalf("%d metrics in docs/metrics.md", len(all))
	}
	return regexp.MustCompile("^(" + strings.Join(all, "|") + ")$")
}

// mustBeDocumented checks the metrics of a run's metrics.csv.
func mustBeDocumented(t *testing.T, rows []map[string]string) {
	t.Helper()
	known, told := documented(t), map[string]bool{}
	for _, r := range rows {
		if name := r["metric"]; !known.MatchString(name) && !told[name] {
			told[name] = true
			t.Errorf("docs/metrics.md has no %s", name)
		}
	}
}

// The figures of data paths that only the lab can run are documented, too: those
// that are named in their source.
func TestDataPathMetricsAreDocumented(t *testing.T) {
	known, n := documented(t), 0
	named := regexp.MustCompile(`(?:\bfigure\(|\b(?:Figure|Metric)\{(?:Name: )?|^\t\t\{)"([a-z0-9_]+)", (?:Unit: )?"`)
	for _, dir := range []string{"../../flow/stream", "../../zc/zcrx", "../../zc/devmem", "../../zc/tcpmmap", "../../bench/endpoint"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(b), -1) {
				if n++; !known.MatchString(m[1]) {
					t.Errorf("%s: docs/metrics.md has no %s", f, m[1])
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("found the names of %d figures only", n)
	}
}
