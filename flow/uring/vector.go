// SPDX-License-Identifier: MIT

package uring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Vector is payload in several pieces, of memory that does not move, for one request. It is to live
// until that is submitted.
type Vector struct {
	header unix.Msghdr
	pieces []unix.Iovec
}

// MostPieces is how many a vector may have (UIO_MAXIOV).
const MostPieces = 1024

// NewVector makes a vector with places for so many pieces.
func NewVector(n int) Vector { return Vector{pieces: make([]unix.Iovec, 0, n)} }

// Parts returns how many pieces there are, those that follow each other taken as one.
func (v *Vector) Parts() int { return len(v.pieces) }

// Empty takes all pieces out, and keeps their places.
func (v *Vector) Empty() { v.pieces = v.pieces[:0] }

// Add puts a piece at the end, together with the one before where it follows that in memory.
func (v *Vector) Add(b []byte) {
	if n := len(v.pieces); n > 0 {
		last := &v.pieces[n-1]
		if unsafe.Add(unsafe.Pointer(last.Base), last.Len) == unsafe.Pointer(unsafe.SliceData(b)) {
			last.Len += uint64(len(b))
			return
		}
	}
	v.pieces = append(v.pieces, unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))})
}
