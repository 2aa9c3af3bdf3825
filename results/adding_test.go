// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
)

const _ = kind.Pure

// One row at the end of columns adds a column: it is written, read back, and missing in an
// older file without harm.
func TestOneLineAddsAColumn(t *testing.T) {
	run := Record{Schema: SchemaVersion, RunID: "r1", Cell: plan.Cell{ID: "c"}, Verdict: OK}
	var older bytes.Buffer
	if err := WriteRuns(&older, []Record{run}); err != nil {
		t.Fatal(err)
	}

	before := columns
	defer func() { columns = before }()
	kept := map[*Host]string{} // the field that a new column would have
	columns = append(before[:len(before):len(before)], column{"colour",
		func(r *row) string { return kept[r.host] },
		func(r *row, s string) error { kept[r.host] = s; return nil }})

	recs := []Record{run}
	kept[&recs[0].SUT] = "red"
	var b bytes.Buffer
	if err := WriteRuns(&b, recs); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.HasSuffix(lines[0], ",colour") || !strings.HasSuffix(lines[1], ",red") {
		t.Errorf("written:\n%s", b.String())
	}
	clear(kept)
	if _, err := ReadRuns(&b); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(slices.Collect(maps.Values(kept)), "red") {
		t.Errorf("read: %v", kept)
	}
	if recs, err := ReadRuns(&older); err != nil || len(recs) != 1 {
		t.Errorf("without the column: %v, %v", recs, err)
	}
}

// The columns of testdata/columns.txt keep their places for good, and new ones come at the end:
// there and in the file, which a new column is added to by hand.
func TestColumnsKeepTheirPlaces(t *testing.T) {
	b, err := os.ReadFile("testdata/columns.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(b))
	var got []string
	for _, c := range columns {
		got = append(got, c.name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the header of runs.csv (-testdata/columns.txt +columns):\n%s", d)
	}
}

// An option that has no column yet gets one behind all others.
func TestOneLineAddsAnOption(t *testing.T) {
	before := plan.Options
	defer func() { plan.Options = before }()
	o := before[0]
	o.Name, o.Column = "colour", ""
	plan.Options = append(before[:len(before):len(before)], o)
	all := withOptions(columns)
	if n := len(columns); len(all) != n+1 || all[n].name != "colour" {
		t.Errorf("%d columns before, then %d, the last %q", n, len(all), all[len(all)-1].name)
	}
}
