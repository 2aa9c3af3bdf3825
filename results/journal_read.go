// SPDX-License-Identifier: MIT

package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/elements"
	"golang.org/x/sys/unix"
)

// Journal is what was read from a journal: the records that can be trusted and
// the lines that cannot.
type Journal struct {
	Header  Header
	Records []Record
	Skipped []Problem // lines not used; at most maxProblems, the last then says how many more

	// End is the offset in bytes behind the last complete run. What follows
	// it was torn off by a crash; to append, cut the file there first.
	End int64
}

const maxProblems = 1000

// Problem is a line of a journal that was not used, and why.
type Problem struct {
	Line   int    `json:"line"`   // from 1
	Offset int64  `json:"offset"` // of the line's first byte
	Why    string `json:"why"`
}

// Torn reports whether the line's writer was stopped in the middle of a run.
func (p Problem) Torn() bool { return strings.HasPrefix(p.Why, torn) }

func (p Problem) String() string {
	return fmt.Sprintf("line %d (byte %d): %s", p.Line, p.Offset, p.Why)
}

// Read reads a journal, also one that is being written or whose writer was
// killed. Lines that are torn, garbage, duplicate or out of order are left out
// and listed in Skipped. It is an error if the file cannot be read, has no
// header, or was written by a newer zcbench (*[versionError]).
func Read(path string) (Journal, error) { return read(path, wholeRecords) }

func read(path string, how reading) (Journal, error) {
	dir := filepath.Dir(path)
	f, err := OpenFolder(dir)
	if errors.Is(err, unix.ENOTDIR) {
		return Journal{}, fmt.Errorf("read journal: %s is a file: name the results folder, %s", dir, filepath.Dir(dir))
	}
	if err != nil {
		return Journal{}, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	return f.read(filepath.Base(path), how)
}

// Read does what [Read] does, for the folder's journal.
func (f *Folder) Read() (Journal, error) { return f.read(JournalFile, wholeRecords) }

// ReadFigures does what [ReadFigures] does, for the folder's journal.
func (f *Folder) ReadFigures() (Journal, error) { return f.read(JournalFile, figuresOnly) }

func (f *Folder) read(name string, how reading) (Journal, error) {
	file, err := f.Open(name)
	if err != nil {
		return Journal{}, fmt.Errorf("read journal: %w", err)
	}
	defer file.Close()
	if st, err := file.Stat(); err == nil {
		how.size = st.Size()
	}
	j, err := decode(file, maxLine, how)
	if err != nil {
		return Journal{}, fmt.Errorf("read journal %s: %w", f.path(name), err)
	}
	return j, nil
}

// ReadFigures reads what [Read] does, without the hosts' metrics and series, which are most of a
// journal's bytes and which no table needs. It skips their lines unparsed and so does not notice
// unsound ones.
func ReadFigures(path string) (Journal, error) { return read(path, figuresOnly) }

// ReadFiguresUpTo does what [Folder.ReadFigures] does, for a journal that may be anybody's: it
// fails if the journal has more than so many runs, before they fill the memory.
func (f *Folder) ReadFiguresUpTo(runs int) (Journal, error) {
	how := figuresOnly
	how.most = runs
	return f.read(JournalFile, how)
}

// ReadHeader reads the header of a journal alone.
func ReadHeader(path string) (Header, error) {
	dir, err := OpenFolder(filepath.Dir(path))
	if err != nil {
		return Header{}, fmt.Errorf("read journal: %w", err)
	}
	defer dir.Close()
	file, err := dir.Open(filepath.Base(path))
	if err != nil {
		return Header{}, fmt.Errorf("read journal: %w", err)
	}
	defer file.Close()
	lines := lineReader{r: bufio.NewReaderSize(file, 256<<10), max: maxLine, over: figuresOnly.over}
	var d decoder
	if err := d.header(&lines); err != nil {
		return Header{}, fmt.Errorf("read journal %s: %w", path, err)
	}
	return d.j.Header, nil
}

// Decode does what [Read] does, for a stream.
func Decode(r io.Reader) (Journal, error) { return decode(r, maxLine, wholeRecords) }

func decode(r io.Reader, maxLine int, how reading) (Journal, error) {
	lines := lineReader{r: bufio.NewReaderSize(r, 256<<10), max: maxLine, over: how.over}
	d := decoder{order: newOrder(), most: how.most, size: how.size}
	if err := d.header(&lines); err != nil {
		return Journal{}, err
	}
	if err := d.records(&lines, how.parser); err != nil {
		return Journal{}, err
	}
	if d.before != nil {
		d.skip(d.before, tornRun)
	}
	if d.more > 0 {
		last := &d.j.Skipped[len(d.j.Skipped)-1]
		last.Why += fmt.Sprintf("; and %d more lines after it", d.more)
	}
	return d.j, nil
}

type decoder struct {
	order order
	j     Journal
	more  int // problems beyond maxProblems
	most  int // records that are read; 0: all
	room  room
	size  int64 // of the file, bytes; 0: not known

	before *line // the line before, where that has a record's details
}

// Why details are not used.
const (
	noRecord = "metrics and series without a record of their run on the next line"
	torn     = "incomplete: " // what begins so was stopped in the middle of a run
	tornRun  = torn + "metrics and series without the record of their run; the writer was stopped too early"
)

func (d *decoder) header(lines *lineReader) error {
	l, data, err := lines.next(nil)
	switch {
	case err == io.EOF:
		return errors.New("line 1: the file is empty: its writer was stopped before the header")
	case err != nil:
		return fmt.Errorf("line 1: %w", err)
	case l.problem != "":
		return fmt.Errorf("line 1: no header: %s", l.problem)
	}
	h := &d.j.Header
	if _, err := elements.Count(data[l.from:l.to], headerBounds); err != nil {
		return fmt.Errorf("line 1: not the header of a zcbench journal: %w", err)
	}
	if err := json.Unmarshal(data[l.from:l.to], h); err != nil {
		return fmt.Errorf("line 1: not the header of a zcbench journal: %w", err)
	}
	if h.Kind != journalKind {
		return fmt.Errorf("line 1: not a zcbench journal: kind is %q, not %q", h.Kind, journalKind)
	}
	if err := checkSchema(h.Schema); err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	if n := len(h.Cells); n > mostHeaderCells {
		return fmt.Errorf("line 1: a plan of %d cells, more than %d", n, mostHeaderCells)
	}
	d.j.End = l.end
	return nil
}

// record uses or skips a line. Only a newer schema is an error: then nothing
// in the file is sure to mean what this build thinks.
func (d *decoder) record(l *line) error {
	before := d.before
	d.before = nil
	if len(d.j.Skipped)+d.more > mostBad {
		return fmt.Errorf("more than %d lines before it are no runs: zcbench did not write them", mostBad)
	}
	switch {
	case before != nil && !l.complete:
		d.skip(before, tornRun)
		return nil
	case before != nil && !before.belongsTo(l):
		d.skip(before, noRecord)
		before = nil
	}
	if l.details && l.problem == "" {
		held := *l
		d.before = &held
		return nil
	}
	if l.complete {
		d.j.End = l.end
	}
	if l.problem != "" {
		d.skip(l, l.problem)
		return nil
	}
	if before != nil && before.rec.RunID != "" {
		l.rec.takeDetails(&before.rec)
	}
	err := l.rec.validate()
	if v := (*versionError)(nil); errors.As(err, &v) {
		return err
	}
	if err == nil {
		err = d.order.check(&l.rec)
	}
	if err == nil && l.detailed && before == nil {
		err = fmt.Errorf("the metrics and series of run %q are not on the line before", l.rec.RunID)
	}
	if err != nil {
		why := err.Error()
		if before != nil && errors.As(err, new(detailsError)) {
			why += fmt.Sprintf(" (line %d)", before.number)
		}
		d.skip(l, why)
		return nil
	}
	if d.most > 0 && len(d.j.Records) == d.most {
		return fmt.Errorf("the journal has more than %d runs", d.most)
	}
	if err := d.room.take(l, before); err != nil {
		return err
	}
	d.order.add(&l.rec)
	d.makeRoom(l.end)
	d.j.Records = append(d.j.Records, l.rec)
	return nil
}

// belongsTo reports whether l has the details of next's record. Details that were not parsed have
// no run id.
func (l *line) belongsTo(next *line) bool {
	return next.problem == "" && !next.details && next.detailed && (l.rec.RunID == "" || l.rec.RunID == next.rec.RunID)
}

func (d *decoder) skip(l *line, why string) {
	if len(d.j.Skipped) == maxProblems {
		d.more++
		return
	}
	d.j.Skipped = append(d.j.Skipped, Problem{Line: l.number, Offset: l.start, Why: why})
}
