// SPDX-License-Identifier: MIT

package screen

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func drawn(t *testing.T, table *Table, columns int) string {
	t.Helper()
	var b strings.Builder
	if err := table.Write(Columned(&b, columns)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sample(t *Table) *Table {
	t.Head("", "CPU", "")
	t.Head("cell", "s/GB", "verdict")
	t.Row("tcp", "0.35", "-")
	t.Row("tcp-mmap message=1Mi", "0.4", "cannot tell (6 and 3 runs: it takes 6 of each)")
	t.Text("  ", "  ", "remark")
	return t
}

// Each width has its form: rows as they are, with words folded, with names on lines of their own,
// in blocks.
func TestTableForms(t *testing.T) {
	for _, x := range []struct {
		columns int
		want    string
	}{
		{0, `
                      CPU
cell                  s/GB  verdict
tcp                   0.35  -
tcp-mmap message=1Mi  0.4   cannot tell (6 and 3 runs: it takes 6 of each)
  remark
`}, {60, `
                       CPU
cell                  s/GB  verdict
tcp                   0.35  -
tcp-mmap message=1Mi   0.4  cannot tell (6 and 3 runs: it
                            takes 6 of each)
  remark
`}, {40, `
       CPU
cell  s/GB  verdict
tcp   0.35  -
tcp-mmap message=1Mi
       0.4  cannot tell (6 and 3 runs:
            it takes 6 of each)
  remark
`}, {30, `
tcp
  CPU s/GB 0.35, verdict -
tcp-mmap message=1Mi
  CPU s/GB 0.4,
  verdict cannot tell (6 and 3
    runs: it takes 6 of each)
  remark
`},
	} {
		if d := cmp.Diff(x.want, "\n"+drawn(t, sample(Aligned("<><")), x.columns)); d != "" {
			t.Errorf("%d columns (-want +got):\n%s", x.columns, d)
		}
	}
}

// Without a terminal a table has the form that it was given.
func TestTableWithoutTerminal(t *testing.T) {
	const want = `            CPU
cell       s/GB verdict
tcp        0.35 -
tcp-mmap m  0.4 cannot tell (6 and 3 runs: it takes 6 of each)
  remark
`
	if d := cmp.Diff(want, drawn(t, sample(Formatted("%-10.10s %4s %-s")), 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := drawn(t, sample(Formatted("%-10.10s %4s %-s")), 200); !strings.Contains(got,
		"tcp-mmap message=1Mi   0.4") {
		t.Errorf("cut where there is room:\n%s", got)
	}
}

// No width has a line that is longer, and none loses a cell.
func TestTableFitsEveryWidth(t *testing.T) {
	for columns := 16; columns < 120; columns++ {
		got := drawn(t, sample(Aligned("<><")), columns)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
				t.Errorf("%d of %d columns: %q", n, columns, line)
			}
		}
		flat := strings.Join(strings.Fields(got), " ")
		for _, word := range []string{"0.35", "0.4", "6 and 3", "of each)", "tcp-mmap"} {
			if !strings.Contains(flat, word) {
				t.Errorf("%d columns: no %q in\n%s", columns, word, got)
			}
		}
	}
}
