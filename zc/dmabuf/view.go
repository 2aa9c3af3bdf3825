// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/handover"
)

// View shows received payload to touchers where it lies, or where the CPU does not reach it by the
// device's copy. It is of one thread. Nothing is allocated per call, but by what copies.
type View struct {
	mem   *Memory
	looks bool
	begun bool // the CPU's access

	copies []byte // of the device; nil: it need not copy
	pieces []piece
	places [][2]int64 // of the pieces, as the device takes them
	n      int        // bytes of the pieces
}

// piece is payload that is yet to be copied and treated.
type piece struct {
	off, n int
	touch  *stream.Toucher
	meter  *stream.Meter
}

// pieceReader is a device that copies several pieces by one call.
type pieceReader interface {
	ReadPieces(p []byte, pieces [][2]int64) error
}

// ErrUntouched is a way to treat payload that its memory does not allow.
var ErrUntouched = errors.New("the CPU cannot map this memory")

// NewView prepares for payload that is treated in such a way. It refuses what the memory does not
// allow.
func NewView(m *Memory, how stream.Touch) (*View, error) {
	v := &View{mem: m, looks: how != stream.TouchNone}
	switch {
	case !v.looks || m.Bytes != nil:
	case how == stream.TouchRead:
		return nil, &fault.Error{Op: "touch read: load the payload from where it lies", Err: ErrUntouched,
			How: "use --touch verify, which compares a copy that the device makes, or none"}
	case m.Device == nil:
		return nil, &fault.Error{Op: "touch " + string(how) + ": compare the payload", Err: ErrUnseen,
			How: "use --touch none; of fd:COMMAND, let the program copy (docs/memory.md)"}
	default:
		v.copies = make([]byte, handover.CopyBytes)
		v.pieces, v.places = make([]piece, 0, handover.MostPieces), make([][2]int64, 0, handover.MostPieces)
	}
	return v, nil
}

// Next treats n bytes of payload at offset off: the next of its flow.
func (v *View) Next(t *stream.Toucher, off, n int, m *stream.Meter) error {
	switch {
	case v.mem.Bytes != nil:
		if v.looks && !v.begun {
			if err := v.begin(m); err != nil {
				return err
			}
		}
		t.Next(v.mem.Bytes[off:off+n], m)
	case v.copies == nil:
		t.Skip(n)
	default:
		return v.add(t, off, n, m)
	}
	return nil
}

// Bytes returns n bytes of payload at offset off, which the CPU may read until End.
func (v *View) Bytes(off, n int, m *stream.Meter) ([]byte, error) {
	switch {
	case v.mem.Bytes == nil:
		return nil, ErrUntouched
	case !v.begun:
		if err := v.begin(m); err != nil {
			return nil, err
		}
	}
	return v.mem.Bytes[off : off+n], nil
}

// add keeps a piece for the device to copy, with others.
func (v *View) add(t *stream.Toucher, off, n int, m *stream.Meter) error {
	for n > 0 {
		if v.n == len(v.copies) || len(v.pieces) == cap(v.pieces) {
			if err := v.flush(); err != nil {
				return err
			}
		}
		part := min(n, len(v.copies)-v.n)
		if i := len(v.pieces) - 1; i >= 0 && v.pieces[i].touch == t && v.pieces[i].off+v.pieces[i].n == off {
			v.pieces[i].n += part
		} else {
			v.pieces = append(v.pieces, piece{off, part, t, m})
		}
		off, n, v.n = off+part, n-part, v.n+part
	}
	return nil
}

// Pause has what was passed to Next treated, so that what a toucher sees next may lie elsewhere.
func (v *View) Pause() error { return v.flush() }

// End comes before buffers go back to the NIC.
func (v *View) End(m *stream.Meter) error {
	err := v.flush()
	if v.begun {
		v.begun = false
		m.Call()
		err = errors.Join(err, v.mem.End(Read))
	}
	return err
}

func (v *View) begin(m *stream.Meter) error {
	if v.mem.Plain {
		return nil
	}
	m.Call()
	v.begun = true
	return v.mem.Begin(Read)
}

// flush has the device copy what was kept, and treats it.
func (v *View) flush() error {
	if v.n == 0 {
		return nil
	}
	if err := v.fetch(); err != nil {
		return fmt.Errorf("copy %d bytes from the device: %w", v.n, err)
	}
	at := 0
	for _, p := range v.pieces {
		p.touch.Next(v.copies[at:at+p.n], p.meter)
		at += p.n
	}
	v.pieces, v.n = v.pieces[:0], 0
	return nil
}

func (v *View) fetch() error {
	if d, ok := v.mem.Device.(pieceReader); ok {
		v.places = v.places[:0]
		for _, p := range v.pieces {
			v.places = append(v.places, [2]int64{int64(p.off), int64(p.n)})
		}
		v.pieces[0].meter.Call()
		return d.ReadPieces(v.copies[:v.n], v.places)
	}
	at := 0
	for _, p := range v.pieces {
		p.meter.Call()
		if err := v.mem.Read(int64(p.off), v.copies[at:at+p.n]); err != nil {
			return err
		}
		at += p.n
	}
	return nil
}
