// SPDX-License-Identifier: MIT

package host

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/plaintext"
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
// SYSTEM MACHINE KERNEL". What follows the line stays in r. With alone, nothing may come
// before it: what a command prints there it may print again later, in the middle of what
// the agent says.
func readMark(r *bufio.Reader, mark string, alone bool) (farHost, error) {
	var noise []byte
	for len(noise) < maxNoise {
		line, err := r.ReadSlice('\n')
		text := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(text, mark+" "); ok && err == nil {
			if said := firstLines(string(noise)); alone && said != "" {
				return farHost{}, &fault.Error{
					Op: fmt.Sprintf("its standard output has something before our program's words: %q", said),
					How: "that is the agent's alone: have the command print nothing there (a banner, a profile, " +
						"-v), or print to standard error"}
			}
			return parseFar(rest)
		}
		if before, _, ok := strings.Cut(text, mark+" "); ok && alone {
			return farHost{}, &fault.Error{Op: fmt.Sprintf("the command puts %q before each line of the agent's",
				firstLines(before)), How: "leave -l and --label away from the command"}
		}
		noise = append(noise, line...)
		if err != nil && err != bufio.ErrBufferFull {
			return farHost{}, &noMarkError{firstLines(string(noise))}
		}
	}
	return farHost{}, fmt.Errorf("its login shell printed %d bytes, beginning with %q, and no end", len(noise),
		firstLines(string(noise)))
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
	case "terminal":
		return farHost{}, &fault.Error{Op: "its standard input is a terminal, which changes what is sent",
			How: "leave -t, --tty and --pty away from the command"}
	case "ready", "found", "missing", "damaged", "refused":
		return farHost{state: w[0], uid: uid, system: w[2], machine: w[3], kernel: w[4]}, nil
	}
	return farHost{}, fmt.Errorf("it described itself as %q", s)
}

// firstLines puts the beginning of a program's output on one line.
func firstLines(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = plaintext.Line(strings.Map(printable, s))
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
