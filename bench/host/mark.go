// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// markWord begins the line in which a far host says what it is.
const markWord = "zcbench-link"

// maxNoise is how much a login shell may print before it, bytes.
const maxNoise = 64 << 10

// noMarkError is a far host that did not come to say what it is.
type noMarkError struct{ said string }

func (e *noMarkError) Error() string {
	return fmt.Sprintf("it did not run our command; it said %q", e.said)
}

// readMark skips what a login shell prints, up to the line "MARK STATE UID
// SYSTEM MACHINE KERNEL". What follows the line stays in r.
func readMark(r *bufio.Reader, mark string) (farHost, error) {
	var noise []byte
	for len(noise) < maxNoise {
		line, err := r.ReadSlice('\n')
		text := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(text, mark+" "); ok && err == nil {
			return parseFar(rest)
		}
		noise = append(noise, line...)
		if err != nil && err != bufio.ErrBufferFull {
			return farHost{}, &noMarkError{firstLines(string(noise))}
		}
	}
	return farHost{}, fmt.Errorf("its login shell printed %d bytes, beginning with %q, and no end", len(noise), firstLines(string(noise)))
}

func parseFar(s string) (farHost, error) {
	w := strings.Fields(s)
	if len(w) != 5 {
		return farHost{}, fmt.Errorf("it described itself as %q: id and uname must work there", s)
	}
	uid, err := strconv.Atoi(w[1])
	if err != nil {
		return farHost{}, fmt.Errorf("its id -u says %q", w[1])
	}
	switch w[0] {
	case "ready", "missing", "damaged", "refused":
		return farHost{state: w[0], uid: uid, system: w[2], machine: w[3], kernel: w[4]}, nil
	}
	return farHost{}, fmt.Errorf("it described itself as %q", s)
}

// firstLines is the beginning of what somebody printed, on one line.
func firstLines(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.Map(printable, s)
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
