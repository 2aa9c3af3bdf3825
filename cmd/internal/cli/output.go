// SPDX-License-Identifier: MIT

package cli

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/internal/plaintext"
	"golang.org/x/sys/unix"
)

// output is standard output or standard error as all commands write to it. Text goes
// through the filter: names, reasons and readings come from other machines.
type output struct {
	mu   sync.Mutex        // a command that was left may still write ([leave])
	text *plaintext.Writer // to raw
	raw  *descriptor
}

func newOutput(f *os.File) *output {
	raw := &descriptor{file: f, read: hasReader(f)}
	return &output{text: plaintext.NewWriter(raw), raw: raw}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Flush()
}

// close writes what is held back and returns the first error of all that was written.
// Some file systems say only when a file is closed that there was no room.
func (o *output) close() error {
	o.flush()
	if err := o.raw.file.Close(); !errors.Is(err, os.ErrClosed) {
		o.raw.keep(err)
	}
	return o.raw.first()
}

// descriptor remembers the first error of writing to it.
type descriptor struct {
	file *os.File
	read bool         // by somebody who may stop: a pipe, or a socket, as ssh and services have it
	left atomic.Int64 // when the command was interrupted, Unix ns; 0: it was not
	mu   sync.Mutex
	err  error
}

// Write implements io.Writer.
func (d *descriptor) Write(p []byte) (n int, err error) {
	for first := true; err == nil && (first || n < len(p)); first = false {
		piece := p[n:]
		if d.read {
			piece = piece[:min(len(piece), pipeBuf)]
			err = d.awaitRoom()
		}
		m := 0
		if err == nil {
			m, err = d.file.Write(piece)
		}
		n += m
	}
	if err != nil {
		return n, d.keep(err)
	}
	return n, nil
}

// pipeBuf is what a pipe that can be written to takes without blocking (PIPE_BUF, pipe(7)). A
// socket that can be written to has room for more.
const pipeBuf = 4096

// awaitRoom waits until the reader has made room. A reader that has stopped to read
// must not hold a command that was interrupted: after [grace] it waits no longer.
func (d *descriptor) awaitRoom() error {
	c, err := d.file.SyscallConn()
	for err == nil {
		n := 0
		err = c.Control(func(fd uintptr) {
			n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(grace.Milliseconds()/5))
		})
		if n > 0 {
			return err
		}
		if left := d.left.Load(); left != 0 && time.Since(time.Unix(0, left)) > grace {
			return errNotRead
		}
	}
	return err
}

// errNotRead is of a reader that takes nothing, when the command was interrupted.
var errNotRead = errors.New("interrupted, and nobody reads it")

// leave notes that the command was interrupted.
func (o *output) leave() { o.raw.left.CompareAndSwap(0, time.Now().UnixNano()) }

func hasReader(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

func (d *descriptor) first() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// keep remembers err, if it is the first, and says it in the words of the tool.
func (d *descriptor) keep(err error) error {
	if err == nil {
		return nil
	}
	e := &fault.Error{Op: "write the output", Err: err}
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		e.Err = p.Err // the name of a descriptor says nothing
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		e.How = "free space where standard output goes, or redirect it"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = e
	}
	return e
}

// Terminal returns the terminal that w, a command's output, writes to, past the filter;
// nil if it is none. What is written there must be ours to the last byte: cursor motions,
// and texts that [plaintext.Line] has seen.
func Terminal(w io.Writer) *os.File {
	o, ok := w.(*output)
	if !ok {
		return nil
	}
	f := o.raw.file
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return f
}

// Columns tells how many columns the terminal has that the output goes to, or as many as COLUMNS
// says, wherever it goes; 0: nobody knows.
func (o *output) Columns() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if size, err := unix.IoctlGetWinsize(int(o.raw.file.Fd()), unix.TIOCGWINSZ); err == nil {
		return int(size.Col)
	}
	return 0
}

// Passthrough strips w, a command's output, of the filter and of errors, for the output of another
// program that the user runs through us, as ssh passes it on: it may draw on the terminal, and need
// not be plain text at all. It must not wait forever for a reader that is gone: the error counts
// when the command ends.
func Passthrough(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		w = o.raw
	}
	return Unfailing(w)
}

// Unfailing wraps w, a command's output, for a writer that would stop at an error and keep another
// program waiting. The error counts when the command ends.
func Unfailing(w io.Writer) io.Writer { return unfailing{w} }

type unfailing struct{ w io.Writer }

func (u unfailing) Write(p []byte) (int, error) {
	u.w.Write(p)
	return len(p), nil
}
