// SPDX-License-Identifier: MIT

package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
)

// required are the columns without which a row says nothing. Any other may be
// missing: its figures were not measured, or are younger than the file.
var required = []string{"schema_version", "run_id", "cell_id", "role", "verdict"}

// ReadRuns reads a runs.csv of this or an older schema version and joins the
// two rows of each run, in the order of their first rows. A run with only one
// row has an empty other host.
//
// The records are what was written except metrics and series, which are in
// other files, and control characters in texts, which became spaces. The quote before what
// a spreadsheet would take for a formula is taken off. Computed columns are checked and
// computed anew.
//
// Errors name the line and the column, both from 1, the column in bytes. A
// file of a newer zcbench is a *[versionError].
func ReadRuns(r io.Reader) ([]Record, error) {
	c := newRowReader(r)
	cols, err := readHeader(c)
	if err != nil {
		return nil, err
	}
	t := table{byID: map[string]*entry{}}
	for {
		fields, err := c.Read()
		if err == io.EOF {
			return t.records(), nil
		}
		if err != nil {
			return nil, err
		}
		e, err := readRow(c, cols, fields)
		if err != nil {
			return nil, err
		}
		line, _ := c.FieldPos(0)
		runs := len(t.order)
		err = t.add(e, line)
		if err == nil && len(t.order) > runs {
			err = c.room.take(nil, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// withoutBOM drops the mark that spreadsheets put before UTF-8.
func withoutBOM(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	if p, _ := b.Peek(3); string(p) == "\ufeff" {
		b.Discard(3)
	}
	return b
}

func readHeader(c *rowReader) ([]*column, error) {
	names, err := c.Read()
	if err == io.EOF {
		return nil, errors.New("line 1: empty file: no header")
	}
	if err != nil {
		return nil, err
	}
	known := map[string]*column{}
	for i := range columns {
		known[columns[i].name] = &columns[i]
	}
	var cols []*column
	seen := map[string]bool{}
	for i, name := range names {
		line, pos := c.FieldPos(i)
		switch {
		case known[name] == nil:
			return nil, fmt.Errorf("line %d, column %d: unknown column %q", line, pos, name)
		case seen[name]:
			return nil, fmt.Errorf("line %d, column %d: column %q twice", line, pos, name)
		}
		seen[name] = true
		cols = append(cols, known[name])
	}
	for _, name := range required {
		if !seen[name] {
			return nil, fmt.Errorf("line 1: no column %q", name)
		}
	}
	return cols, nil
}

func readRow(c *rowReader, cols []*column, fields []string) (row, error) {
	e := row{rec: new(Record), host: new(Host)}
	for i, s := range fields {
		err := cols[i].set(&e, strings.Clone(s)) // a line's fields share one string
		if err == nil && cols[i].name == "schema_version" {
			err = checkSchema(e.rec.Schema)
		}
		if err != nil {
			line, pos := c.FieldPos(i)
			return row{}, fmt.Errorf("line %d, column %d: %s: %w", line, pos, cols[i].name, err)
		}
	}
	e.host.Name = trimRole(e.host.Name, e.role)
	e.dropUntimed()
	return e, e.check(c)
}

func (e *row) check(c *rowReader) error {
	if err := e.rec.validate(); err != nil {
		line, _ := c.FieldPos(0)
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

// table joins rows to runs.
type table struct {
	order []*entry
	byID  map[string]*entry
}

type entry struct {
	rec  *Record
	line map[ends.Role]int // where each end was
	any  int
}

func (t *table) add(r row, line int) error {
	e := t.byID[r.rec.RunID]
	if e == nil {
		e = &entry{rec: r.rec, line: map[ends.Role]int{}, any: line}
		t.byID[r.rec.RunID] = e
		t.order = append(t.order, e)
	} else if at, ok := e.line[r.role]; ok {
		return fmt.Errorf("run %q has a second %s row; the first is on line %d", r.rec.RunID, r.role, at)
	} else if !sameRun(e.rec, r.rec) {
		return fmt.Errorf("run %q differs from its row on line %d in a column that both hosts share", r.rec.RunID,
			e.any)
	}
	e.line[r.role] = line
	*e.rec.Host(r.role) = *r.host
	return nil
}

func sameRun(a, b *Record) bool {
	x, y := *a, *b
	x.SUT, x.TG, y.SUT, y.TG = Host{}, Host{}, Host{}, Host{}
	return reflect.DeepEqual(x, y)
}

func (t *table) records() []Record {
	out := make([]Record, len(t.order))
	for i, e := range t.order {
		out[i] = *e.rec
	}
	return out
}
