// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestCopyToMark(t *testing.T) {
	const mark = "ABABC"
	for _, text := range []string{"", "x", "text\nmore\n", "AB", "ABAB", "ABABABAB", strings.Repeat("ABAB", 40_000),
		"ABABD\x00", "C"} {
		for name, r := range map[string]io.Reader{
			"at once":    strings.NewReader(text + mark),
			"in bytes":   iotest.OneByteReader(strings.NewReader(text + mark)),
			"in halves":  iotest.HalfReader(strings.NewReader(text + mark)),
			"cut before": strings.NewReader(text),
		} {
			var got bytes.Buffer
			copyToMark(&got, r, mark)
			if got.String() != text {
				t.Errorf("%.20q %s: %d bytes, want %d", text, name, got.Len(), len(text))
			}
		}
	}
}

// What comes is not held back until more comes, but for what may be the mark.
func TestCopyToMarkAtOnce(t *testing.T) {
	r, w := io.Pipe()
	got, out := io.Pipe()
	go copyToMark(out, r, "MARK")
	go w.Write([]byte("progress: M"))
	buf := make([]byte, 100)
	if n, _ := got.Read(buf); string(buf[:n]) != "progress: " {
		t.Errorf("got %q", buf[:n])
	}
	go w.Write([]byte("ARGH"))
	if n, _ := got.Read(buf); string(buf[:n]) != "MARGH" {
		t.Errorf("got %q", buf[:n])
	}
}

type broken struct{ n int }

func (b *broken) Write(p []byte) (int, error) { b.n++; return 0, errors.New("broken") }

// The guest must not wait for a reader that is gone.
func TestCopyToMarkReadsOn(t *testing.T) {
	r := io.MultiReader(strings.NewReader("one"), strings.NewReader("two"), strings.NewReader("MARK"))
	w := &broken{}
	copyToMark(w, r, "MARK")
	if w.n != 2 {
		t.Errorf("wrote %d times", w.n)
	}
}
