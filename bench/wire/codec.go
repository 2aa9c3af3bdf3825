// SPDX-License-Identifier: MIT

package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxLine bounds one message, in bytes. Results with their time series stay far
// below it.
const MaxLine = 16 << 20

// Encoder writes messages; any goroutine may.
type Encoder struct {
	mu sync.Mutex
	w  io.Writer
}

// NewEncoder writes to w.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w} }

// Encode writes v as one line.
func (e *Encoder) Encode(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err = e.w.Write(append(b, '\n'))
	return err
}

// Decoder reads messages strictly: an unknown field or anything after the
// object is an error with its position.
type Decoder struct {
	r    *bufio.Reader
	line int
}

// NewDecoder reads from r.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: bufio.NewReaderSize(r, 64<<10)} }

// Decode reads the next line into v. io.EOF is a clean end; a last line
// without its newline is an error.
func (d *Decoder) Decode(v any) error {
	line, err := d.readLine()
	if err != nil {
		return err
	}
	d.line++
	return d.at(decodeObject(line, v))
}

func (d *Decoder) at(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("message %d: %w", d.line, err)
}

func (d *Decoder) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := d.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, fmt.Errorf("message %d: longer than %d bytes", d.line+1, MaxLine)
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, &CutError{d.line + 1, len(line)}
		default:
			return nil, err
		}
	}
}

// CutError is a last line without its end: whoever wrote it was ended meanwhile.
type CutError struct{ Line, Bytes int }

func (e *CutError) Error() string {
	return fmt.Sprintf("message %d: cut off after %d bytes: %v", e.Line, e.Bytes, io.ErrUnexpectedEOF)
}
func (e *CutError) Unwrap() error { return io.ErrUnexpectedEOF }

// decodeObject decodes as decodeStrict does, but objects only: to encoding/json an empty line is
// the end of input and null is any object.
func decodeObject(b []byte, v any) error {
	if rest := bytes.TrimSpace(b); len(rest) == 0 || rest[0] != '{' {
		return errors.New("byte 0: not a JSON object")
	}
	return decodeStrict(b, v)
}

func decodeStrict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // io.EOF is the end of the conversation
		}
		return fmt.Errorf("byte %d: %w", dec.InputOffset(), err)
	}
	if rest := bytes.TrimSpace(b[dec.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("byte %d: more after the object", dec.InputOffset())
	}
	return nil
}
