// SPDX-License-Identifier: MIT

package screen

import (
	"bufio"
	"io"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// Columns returns how many columns there are where w writes to; 0: it is no terminal, or one that
// does not say.
func Columns(w io.Writer) int {
	if s, ok := w.(interface{ Columns() int }); ok {
		return s.Columns()
	}
	return 0
}

// Writer is a buffered writer that knows how many columns there are.
type Writer struct {
	*bufio.Writer
	columns int
}

// NewWriter wraps w, whose columns it keeps to.
func NewWriter(w io.Writer) *Writer { return &Writer{bufio.NewWriter(w), Columns(w)} }

// Columns is that of what it wraps.
func (w *Writer) Columns() int { return w.columns }

// Columned gives w this many columns.
func Columned(w io.Writer, columns int) io.Writer { return columned{w, columns} }

type columned struct {
	io.Writer
	columns int
}

func (c columned) Columns() int { return c.columns }

// Text writes text in lines that are comfortable to read, and fit: see [plaintext.Wrap].
func Text(w io.Writer, first, rest, text string) error {
	_, err := io.WriteString(w, plaintext.WrapTo(prose(Columns(w)), first, rest, text))
	return err
}

// prose is how wide lines of words are: no wider than others where there is more room.
func prose(columns int) int {
	if columns == 0 {
		return plaintext.Width
	}
	return min(columns, plaintext.Width)
}

// Line writes a line of words, which is folded only where a terminal is too narrow for it.
func Line(w io.Writer, first, rest, text string) error {
	_, err := io.WriteString(w, lineOf(Columns(w), first, rest, text))
	return err
}

func lineOf(columns int, first, rest, text string) string {
	if columns == 0 {
		return first + text + "\n"
	}
	return plaintext.WrapTo(columns, first, rest, text)
}
