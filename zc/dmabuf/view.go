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
// device's copy. It is of one thread, and nothing is allocated per call.
type View struct {
	mem   *Memory
	looks bool
	begun bool // the CPU's access

	copies []byte // of the device; nil: it need not copy
	at, n  int    // what is yet to be copied, for:
	touch  *stream.Toucher
	meter  *stream.Meter
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
	case v.touch == t && off == v.at+v.n && v.n+n <= len(v.copies):
		v.n += n
	default:
		if err := v.flush(); err != nil {
			return err
		}
		v.at, v.n, v.touch, v.meter = off, n, t, m
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

// flush has the device copy what lies in one piece.
func (v *View) flush() error {
	for v.n > 0 {
		p := v.copies[:min(v.n, len(v.copies))]
		v.meter.Call()
		if err := v.mem.Read(int64(v.at), p); err != nil {
			return fmt.Errorf("copy %d bytes from the device: %w", len(p), err)
		}
		v.touch.Next(p, v.meter)
		v.at, v.n = v.at+len(p), v.n-len(p)
	}
	return nil
}
