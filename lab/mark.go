// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"io"
)

// copyToMark copies what r brings until the mark has come. Nothing comes after it
// before the next command starts. An error of w does not end it: the guest would
// wait for ever for a reader.
func copyToMark(w io.Writer, r io.Reader, mark string) {
	end := []byte(mark)
	var held []byte // may be the beginning of the mark
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		held = append(held, buf[:n]...)
		if i := bytes.Index(held, end); i >= 0 {
			write(w, held[:i])
			return
		}
		if err != nil {
			write(w, held)
			return
		}
		keep := beginning(held, end)
		write(w, held[:len(held)-keep])
		held = append(held[:0], held[len(held)-keep:]...)
	}
}

func write(w io.Writer, p []byte) {
	if len(p) > 0 {
		w.Write(p)
	}
}

// beginning counts how many of the last bytes of p are the first of mark.
func beginning(p, mark []byte) int {
	for n := min(len(p), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}
