package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Journal is what was read from a journal: the records that can be trusted and
// the lines that cannot.
type Journal struct {
	Header  Header
	Records []Record
	Skipped []Problem // lines not used; at most maxProblems, the last then says how many more

	// End is the offset in bytes behind the last complete line. What follows
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

func (p Problem) String() string {
	return fmt.Sprintf("line %d (byte %d): %s", p.Line, p.Offset, p.Why)
}

// Read reads a journal, also one that is being written or whose writer was
// killed. Lines that are torn, garbage, duplicate or out of order are left out
// and listed in Skipped. It is an error if the file cannot be read, has no
// header, or was written by a newer zcbench (*[VersionError]).
func Read(path string) (Journal, error) { return read(path, unmarshal) }

func read(path string, parse parser) (Journal, error) {
	f, err := os.Open(path)
	if err != nil {
		return Journal{}, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	j, err := decode(f, MaxLine, parse)
	if err != nil {
		return Journal{}, fmt.Errorf("read journal %s: %w", path, err)
	}
	return j, nil
}

// ReadFigures is [Read] without the metrics and series of the hosts, which are
// most of a journal's bytes and which no table needs, but for the metrics of runs
// with probes. Lines whose series are unsound are not noticed.
func ReadFigures(path string) (Journal, error) { return read(path, unmarshalFigures) }

// Decode is [Read] on a stream.
func Decode(r io.Reader) (Journal, error) { return decode(r, MaxLine, unmarshal) }

func decode(r io.Reader, maxLine int, parse parser) (Journal, error) {
	d := decoder{lines: lineReader{r: bufio.NewReaderSize(r, 64<<10), max: maxLine}, order: newOrder(), parse: parse}
	if err := d.header(); err != nil {
		return Journal{}, err
	}
	for {
		l, err := d.lines.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = d.record(l)
		}
		if err != nil {
			return Journal{}, fmt.Errorf("line %d: %w", l.number, err)
		}
	}
	if d.more > 0 {
		last := &d.j.Skipped[len(d.j.Skipped)-1]
		last.Why += fmt.Sprintf("; and %d more lines after it", d.more)
	}
	return d.j, nil
}

type decoder struct {
	lines lineReader
	order order
	j     Journal
	more  int // problems beyond maxProblems
	parse parser
}

func (d *decoder) header() error {
	l, err := d.lines.next()
	switch {
	case err == io.EOF:
		return errors.New("line 1: the file is empty: its writer was stopped before the header")
	case err != nil:
		return fmt.Errorf("line 1: %w", err)
	case l.problem != "":
		return fmt.Errorf("line 1: no header: %s", l.problem)
	}
	h := &d.j.Header
	if err := json.Unmarshal(l.data, h); err != nil {
		return fmt.Errorf("line 1: not the header of a zcbench journal: %w", err)
	}
	if h.Kind != journalKind {
		return fmt.Errorf("line 1: not a zcbench journal: kind is %q, not %q", h.Kind, journalKind)
	}
	if err := checkSchema(h.Schema); err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	d.j.End = l.end
	return nil
}

// record uses or skips a line. Only a newer schema is an error: then nothing
// in the file is sure to mean what this build thinks.
func (d *decoder) record(l line) error {
	if l.complete {
		d.j.End = l.end
	}
	if l.problem != "" {
		d.skip(l, l.problem)
		return nil
	}
	r, err := d.parse(l.data)
	if err != nil {
		d.skip(l, fmt.Sprintf("not a record: %v", err))
		return nil
	}
	err = r.validate()
	if v := (*VersionError)(nil); errors.As(err, &v) {
		return err
	}
	if err == nil {
		err = d.order.check(&r)
	}
	if err != nil {
		d.skip(l, err.Error())
		return nil
	}
	d.order.add(&r)
	d.j.Records = append(d.j.Records, r)
	return nil
}

func (d *decoder) skip(l line, why string) {
	if len(d.j.Skipped) == maxProblems {
		d.more++
		return
	}
	d.j.Skipped = append(d.j.Skipped, Problem{Line: l.number, Offset: l.start, Why: why})
}

// lineReader splits a stream into lines without ever holding more than max
// bytes of one.
type lineReader struct {
	r      *bufio.Reader
	max    int
	buf    []byte
	number int
	off    int64
}

type line struct {
	data       []byte // without the newline; valid until the next line is read
	number     int
	start, end int64
	complete   bool   // a newline ends it
	problem    string // why data is not to be used
}

func (lr *lineReader) next() (line, error) {
	lr.buf = lr.buf[:0]
	lr.number++
	l := line{number: lr.number, start: lr.off}
	for !l.complete {
		part, err := lr.r.ReadSlice('\n')
		lr.off += int64(len(part))
		if room := lr.max - len(lr.buf); len(part) > room {
			l.problem = fmt.Sprintf("longer than %d bytes", lr.max)
			part = part[:room]
		}
		lr.buf = append(lr.buf, part...)
		if err == io.EOF {
			break
		}
		if err != nil && err != bufio.ErrBufferFull {
			return l, err
		}
		l.complete = err == nil
	}
	l.end = lr.off
	if l.end == l.start {
		return l, io.EOF
	}
	l.data = lr.buf
	switch {
	case !l.complete:
		l.problem = fmt.Sprintf("torn: %d bytes without an end of line, the writer was stopped in the middle of it", l.end-l.start)
	case l.problem == "":
		l.data = lr.buf[:len(lr.buf)-1]
	}
	return l, nil
}
