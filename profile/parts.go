// SPDX-License-Identifier: MIT

package profile

import "encoding/binary"

// within is what a field of a profile holds that takes memory of its own: fields by their numbers,
// or numbers one after another, of which so many bytes count as a part.
type within struct {
	fields  map[uint64]within
	numbers int
}

// The fields that can be there any number of times (profile.proto of pprof). Others besides are one
// part each, whatever is in them.
var (
	// comments: a text each
	ofProfile = map[uint64]within{2: {fields: ofSample}, 4: {fields: ofPlace}, 13: {numbers: 1}}
	// places, values, labels
	ofSample = map[uint64]within{1: {numbers: 8}, 2: {numbers: 8}, 3: {}}
	ofPlace  = map[uint64]within{4: {}} // lines
)

// parts counts what a protobuf message would become in memory, without making anything of it:
// samples, places, functions, texts, and the labels, lines and numbers in them; -1: it is none.
func parts(b []byte) int { return partsOf(b, ofProfile) }

func partsOf(b []byte, fields map[uint64]within) (n int) {
	for ; len(b) > 0; n++ {
		tag, k := binary.Uvarint(b)
		if k <= 0 {
			return -1
		}
		b = b[k:]
		k, inner := length(b, tag&7)
		if k <= 0 || k > len(b) {
			return -1
		}
		if of := fields[tag>>3]; of.numbers > 0 {
			n += len(inner) / of.numbers
		} else if of.fields != nil {
			m := partsOf(inner, of.fields)
			if m < 0 {
				return -1
			}
			n += m
		}
		b = b[k:]
	}
	return n
}

// length returns how many bytes a field's value takes, and what is in it, if it has a length; not
// more than 0: it is none.
func length(b []byte, kind uint64) (n int, inner []byte) {
	switch kind {
	case 0:
		_, n = binary.Uvarint(b)
	case 1:
		n = 8
	case 2:
		l, m := binary.Uvarint(b)
		if m <= 0 || l > uint64(len(b)-m) {
			return -1, nil
		}
		return m + int(l), b[m : m+int(l)]
	case 5:
		n = 4
	}
	return n, nil
}
