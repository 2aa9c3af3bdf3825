// SPDX-License-Identifier: MIT

package plaintext

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer writes what is [Safe] as it is, and the rest as [Clean] does. It may be used by
// several goroutines at once.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	part []byte // of a character, from the end of the last Write
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Write writes p. A character that p has only the beginning of waits for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.part) > 0 {
		text = append(w.part, p...)
	}
	whole := len(text) - begun(text)
	if err := w.emit(text[:whole]); err != nil {
		return 0, err
	}
	w.part = append(w.part[:0:0], text[whole:]...) // text may be in what part was
	return len(p), nil
}

// Flush writes the beginning of a character that never got its end.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	part := w.part
	w.part = nil
	return w.emit(part)
}

// emit writes text in one piece: what other processes write must not come between.
func (w *Writer) emit(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if !clean(text) {
		text = appendClean(make([]byte, 0, len(text)+16), text)
	}
	_, err := w.to.Write(text)
	return err
}

func clean(text []byte) bool {
	for at := 0; at < len(text); {
		if printable[text[at]] {
			at++
			continue
		}
		c, n := utf8.DecodeRune(text[at:])
		if !shown(c, n) {
			return false
		}
		at += n
	}
	return true
}

// printable are the bytes that are characters of their own and are shown: nearly all of
// large files.
var printable = func() (t [256]bool) {
	for c := range utf8.RuneSelf {
		t[c] = Safe(rune(c))
	}
	return t
}()

// begun counts the bytes at the end of text that are the beginning of a character.
func begun(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
