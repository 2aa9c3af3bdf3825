// SPDX-License-Identifier: MIT

package results

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/zcbench/zcbench/internal/elements"
)

// records reads all lines behind the header. One goroutine reads them, as many as
// there are CPUs parse them, and the caller takes them in their order.
func (d *decoder) records(lines *lineReader, parse func() parser) error {
	workers := runtime.GOMAXPROCS(0)
	var (
		work    = make(chan *batch, workers)
		inOrder = make(chan *batch, 2*workers) // bounds what is held in memory
		stop    = make(chan struct{})
		wg      sync.WaitGroup
	)
	defer wg.Wait()
	defer close(stop)
	for range workers {
		wg.Go(func() {
			p := parse()
			for b := range work {
				b.parse(p)
				close(b.parsed)
			}
		})
	}
	wg.Go(func() {
		defer close(inOrder)
		defer close(work)
		for err := error(nil); err == nil; {
			b := newBatch()
			err = b.read(lines)
			select {
			case inOrder <- b:
				long := len(b.text) > longBatch
				work <- b
				if long { // one at a time
					<-b.parsed
				}
			case <-stop:
				return
			}
		}
	})
	for b := range inOrder {
		<-b.parsed
		if err := d.take(b); err != nil {
			return err
		}
		batches.Put(b)
	}
	return nil
}

func (d *decoder) take(b *batch) error {
	for i := range b.lines {
		if err := d.record(&b.lines[i]); err != nil {
			return fmt.Errorf("line %d: %w", b.lines[i].number, err)
		}
	}
	if b.err != nil && b.err != io.EOF {
		return b.err
	}
	return nil
}

// batch is some lines that are parsed together.
type batch struct {
	text   []byte
	lines  []line
	err    error // that ended the reading
	parsed chan struct{}
}

// batchBytes is small enough for a CPU's cache and large enough that handing it
// over costs nothing beside. Each of its lines has a record, which may be all of its bytes a
// thousand times: batchLines are as many as are in so many bytes of ours.
const (
	batchBytes = 512 << 10
	batchLines = 256
	longBatch  = 4 * batchBytes // has a line that must not stay in memory
)

var batches = sync.Pool{New: func() any { return new(batch) }}

func newBatch() *batch {
	b := batches.Get().(*batch)
	*b = batch{text: b.text[:0], lines: b.lines[:0], parsed: make(chan struct{})}
	return b
}

func (b *batch) read(lines *lineReader) error {
	for len(b.text) < batchBytes && len(b.lines) < batchLines {
		var l line
		if l, b.text, b.err = lines.next(b.text); b.err != nil {
			if b.err != io.EOF {
				b.err = fmt.Errorf("line %d: %w", l.number, b.err)
			}
			break
		}
		b.lines = append(b.lines, l)
	}
	return b.err
}

func (b *batch) parse(p parser) {
	for i := range b.lines {
		l := &b.lines[i]
		if l.problem != "" {
			continue
		}
		text := b.text[l.from:l.to]
		err := l.count(text)
		if err == nil {
			err = p(text, l)
		}
		if err != nil {
			l.problem = fmt.Sprintf("not a record: %v", err)
		}
	}
	if cap(b.text) > longBatch {
		b.text = nil
	}
}

// line is one line of a journal.
type line struct {
	from, to   int // in the text that it was read into, without the newline
	number     int
	start, end int64  // in the file
	complete   bool   // a newline ends it
	problem    string // why it is not to be used

	rec      Record
	has      elements.Bounds // what is in its lists
	details  bool            // it has but the metrics and series of the next line's record, and may not be kept
	detailed bool            // it has a record whose metrics and series are on the line before
}

// mostSkipped is how far the end of a line that is too long is looked for, in bytes: a file of
// holes may have terabytes.
const mostSkipped = 1 << 30

// lineReader splits a stream into lines without ever holding more than max
// bytes of one.
type lineReader struct {
	r      *bufio.Reader
	max    int
	over   []byte // lines of details that begin so are not kept; nil: all are
	number int
	off    int64
}

// next appends the next line to text.
func (lr *lineReader) next(text []byte) (line, []byte, error) {
	lr.number++
	l := line{number: lr.number, start: lr.off, from: len(text)}
	for held := 0; !l.complete; { // bytes of it, of which no more than max count
		part, err := lr.r.ReadSlice('\n')
		lr.off += int64(len(part))
		if held == 0 && lr.over != nil {
			l.details = bytes.HasPrefix(part, lr.over)
		}
		if room := lr.max - held; len(part) > room {
			l.problem = fmt.Sprintf("longer than %d bytes", lr.max)
			part = part[:room]
		}
		held += len(part)
		if !l.details {
			text = append(text, part...)
		}
		if err == io.EOF {
			break
		}
		if err != nil && err != bufio.ErrBufferFull {
			return l, text, err
		}
		if l.complete = err == nil; !l.complete && lr.off-l.start > mostSkipped {
			return l, text, fmt.Errorf("line %d is longer than %d bytes: this is no journal", l.number, mostSkipped)
		}
	}
	l.end, l.to = lr.off, len(text)
	if l.end == l.start {
		return l, text, io.EOF
	}
	switch {
	case !l.complete:
		l.problem = fmt.Sprintf(torn+"%d bytes without an end of line; the writer was stopped in the middle of it",
			l.end-l.start)
	case l.problem == "" && !l.details:
		l.to--
	}
	return l, text, nil
}
