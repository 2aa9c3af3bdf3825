// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
)

// What lab exec and lab up say to each other: frames, each a kind, a length and bytes.
const (
	frameMachine = 'm' // up: a Machine, first of all
	frameJob     = 'j' // exec: a jobFrame
	frameGo      = 'g' // up: it is your turn, send the files
	frameFiles   = 'i' // exec: of the archive of the command's files
	frameFilesOK = 'I' // exec: its end
	frameNoFiles = 'X' // exec: the rest cannot be read
	frameStdout  = 'o' // up
	frameStderr  = 'e' // up
	frameLog     = 'l' // up
	frameBack    = 'b' // up: of the archive of files that come back
	frameBackOK  = 'B' // up: its end
	frameOutcome = 'r' // up: an outcomeFrame, last of all
)

// maxFrame bounds what a frame makes the other end hold.
const maxFrame = 4 << 20

type jobFrame struct {
	Job     guest.Job
	Timeout time.Duration
}

// outcomeFrame is an outcome; an error of the lab has an Op.
type outcomeFrame struct {
	Exit         int
	Op, Err, Fix string
}

func newOutcomeFrame(o outcome) outcomeFrame {
	f := outcomeFrame{Exit: o.exit}
	if o.err == nil {
		return f
	}
	var e *Error
	if errors.As(o.err, &e) {
		f.Op, f.Err, f.Fix = e.Op, e.Err.Error(), e.Fix
	} else {
		f.Op, f.Err = "run the command", o.err.Error()
	}
	return f
}

func (f outcomeFrame) outcome() outcome {
	o := outcome{exit: f.Exit}
	if f.Op != "" {
		o.err = &Error{f.Op, errors.New(f.Err), f.Fix}
	}
	return o
}

// wire is one end of a connection.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
	mu   sync.Mutex // of writing
}

func newWire(conn net.Conn) *wire { return &wire{conn: conn, r: bufio.NewReaderSize(conn, 64<<10)} }

func (w *wire) send(kind byte, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(p)))
	b := net.Buffers{head, p}
	_, err := b.WriteTo(w.conn)
	return err
}

func (w *wire) sendJSON(kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.send(kind, b)
}

func (w *wire) read() (kind byte, p []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(w.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	p = make([]byte, n)
	_, err = io.ReadFull(w.r, p)
	return head[0], p, err
}

// expect reads a frame of one kind into v.
func (w *wire) expect(kind byte, v any) error {
	got, p, err := w.read()
	if err != nil {
		return err
	}
	if got != kind {
		return fmt.Errorf("got frame %q, want %q", got, kind)
	}
	return json.Unmarshal(p, v)
}

// stream writes frames of one kind.
func (w *wire) stream(kind byte) io.Writer { return frames{w, kind} }

type frames struct {
	w    *wire
	kind byte
}

// Write implements io.Writer.
func (f frames) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := min(len(p), 64<<10)
		if err := f.w.send(f.kind, p[:k]); err != nil {
			return n, err
		}
		n, p = n+k, p[k:]
	}
	return n, nil
}
