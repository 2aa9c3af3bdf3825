// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/zcbench/zcbench/internal/elements"
)

// Bounds of what a journal becomes in memory. Without them 3 bytes of a line become a cell of 640,
// and an archive that fits into a mail takes all memory that there is. A plan has at most 10,000
// cells and 100,000 runs, a run 1024 flows, and an agent's answer 262,144 elements.
var (
	headerBounds  = elements.Bounds{Elements: 1 << 16, Points: 1 << 16}
	recordBounds  = elements.Bounds{Elements: 1 << 16, Points: 1 << 22} // old ones have series
	detailsBounds = elements.Bounds{Elements: 1 << 19, Points: 1 << 22}
)

const (
	mostHeaderCells = 20_000
	mostBad         = 100_000 // lines that are no runs

	// Records may take leastRoom bytes in memory, and more in a longer journal: roomPerByte for
	// each byte of their lines. As we write them they take 2 to 5.
	leastRoom, roomPerByte = 64 << 20, 8
	// elementBytes is what an element of a record takes: those of flows have most, with some of
	// their figures, which are pointers.
	elementBytes, pointBytes = 160, 8
)

// recordBytes is what a record takes that says nothing.
var recordBytes = int64(reflect.TypeFor[Record]().Size())

// count refuses a line of which too much would become, before it is decoded.
func (l *line) count(text []byte) (err error) {
	most := recordBounds
	if bytes.HasPrefix(text, detailsPrefix) {
		most = detailsBounds
	}
	l.has, err = elements.Count(text, most)
	return err
}

// room keeps account of what the records of a journal take.
type room struct{ taken, read int64 }

// take refuses a record that would take more than a journal of this length can have. before has its
// details; nil: it has none.
func (r *room) take(l, before *line) error {
	r.taken += recordBytes
	for _, x := range []*line{l, before} {
		if x != nil {
			n := int64(x.to - x.from)
			r.read += n
			r.taken += n + int64(x.has.Elements)*elementBytes + int64(x.has.Points)*pointBytes
		}
	}
	if most := leastRoom + roomPerByte*r.read; r.taken > most {
		return fmt.Errorf("its runs would take more than %d MiB of memory, far more than their %d bytes can: "+
			"zcbench did not write it", most>>20, r.read)
	}
	return nil
}

// makeRoom makes room for another record, whose line ends at a place of the file. Records are
// large, and there may be 100,000: where those up to here say how many there will be, that is how
// many get room, instead of twice as many, beside half as many in what they were copied from.
func (d *decoder) makeRoom(end int64) {
	n := len(d.j.Records)
	if n < cap(d.j.Records) {
		return
	}
	want := n + n/4
	if d.size > 0 && end > 0 {
		want = int(float64(n+1) * float64(d.size) / float64(end) * 1.01)
	}
	want = min(max(want, n+n/4, n+16), 4*n+64)
	d.j.Records = append(make([]Record, 0, want), d.j.Records...)
}
