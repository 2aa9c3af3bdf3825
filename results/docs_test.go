// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
)

// madeOf checks what stands between <!-- MARK... --> and <!-- end --> in a document, and
// with -update writes it.
func madeOf(t *testing.T, path, mark, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), "<!-- "+mark)
	line, rest, ok2 := strings.Cut(rest, "\n")
	got, after, ok3 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("%s has no <!-- %s --> and <!-- end -->", path, mark)
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s (-is +made of the tables; -update writes it):\n%s", path, cmp.Diff(got, want))
		return
	}
	if err := os.WriteFile(path, []byte(before+"<!-- "+mark+line+"\n"+want+"<!-- end -->"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// quoted are names as a document has them.
func quoted(names string) string { return "`" + strings.Join(strings.Fields(names), "`, `") + "`" }

func TestMetricDocs(t *testing.T) {
	var b strings.Builder
	for i, s := range metrics.Sections {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		if s.Intro != "" {
			fmt.Fprintf(&b, "%s\n\n", s.Intro)
		}
		b.WriteString("| metric | unit | source | meaning |\n|---|---|---|---|\n")
		for _, m := range s.Metrics {
			units := strings.ReplaceAll(strings.Join(strings.Fields(m.Units), ", "), measure.UnitByName, "by name")
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", quoted(m.Names), units, m.Source, m.Meaning)
		}
	}
	madeOf(t, "../docs/metrics.md", "metrics", b.String())
}

func TestColumnDocs(t *testing.T) {
	var b strings.Builder
	var described []string
	b.WriteString("| column | unit | meaning |\n|---|---|---|\n")
	for _, c := range ColumnDocs {
		names := strings.Fields(c.Names)
		described = append(described, names...)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(names, ", "), c.Unit, c.Meaning)
	}
	var have []string
	for _, c := range columns {
		have = append(have, c.name)
	}
	if d := cmp.Diff(have, described); d != "" {
		t.Errorf("columns without a line in ColumnDocs, or in another order (-columns +described):\n%s", d)
	}
	madeOf(t, "../docs/columns.md", "columns", b.String())
}

// What real runs measured is described: plans over veth, with and without probes, and runs
// of the lab.
func TestRealRowsAreDescribed(t *testing.T) {
	probed, err := os.ReadFile(filepath.Join("report", "testdata", "probed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, text := range [][]byte{goldenJournal(t, "journal-v2-a.jsonl.gz"), goldenJournal(t, "journal-v2-b.jsonl.gz"),
		probed} {
		j, err := Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for i := range j.Records {
			for _, h := range []*Host{&j.Records[i].SUT, &j.Records[i].TG} {
				for _, m := range j.Records[i].rows(h) {
					if !names[m.Name] {
						names[m.Name] = true
						if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
							t.Error(err)
						}
					}
				}
				for _, s := range h.Series {
					if d, unit := metrics.Describe(s.Name); d == nil || unit != s.Unit {
						t.Errorf("%s in %s is not described", s.Name, s.Unit)
					}
				}
			}
		}
	}
	if len(names) < 300 {
		t.Errorf("%d metrics only", len(names))
	}
}
