// SPDX-License-Identifier: MIT

package matrix

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFile is the longest experiment file, bytes: thirty times what a long one
// has.
const maxFile = 128 << 10

// maxLines bounds what the parser's scanner does with empty lines of a text block,
// which grows with the square of their number.
const maxLines = 6_000

// ReadFile reads and parses an experiment file. No more of it is read than one may
// have. Errors of its text are *[Error].
func ReadFile(name string) (*Spec, error) { return readFile(name, Parse) }

// ReadWhole reads an experiment file as [ReadFile] does, without what its short version leaves out.
func ReadWhole(name string) (*Spec, error) { return readFile(name, ParseWhole) }

func readFile(name string, parse func(string, []byte) (*Spec, error)) (*Spec, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return parse(name, data)
}

// clean strips a file's text of a byte order mark. It refuses what is no text, before a parser sees
// it.
func clean(data []byte) (string, error) {
	if len(data) > maxFile {
		return "", &Error{Line: 1, Column: 1, Msg: fmt.Sprintf("the file exceeds %d KiB, the limit for an experiment",
			maxFile>>10)}
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return "", &Error{Line: 1, Column: 1, Msg: "the file is UTF-16: save it as UTF-8"}
		}
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	line, column, ends := 1, 1, 0
	for i, r := range text {
		switch {
		case r == '\n':
			line, column, ends = line+1, 0, ends+1
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			return "", &Error{Line: line, Column: column, Msg: fmt.Sprintf("byte 0x%02x is not UTF-8", text[i])}
		case isControl(r) && r != '\r':
			return "", &Error{Line: line, Column: column, Msg: fmt.Sprintf("a control character, %U", r)}
		}
		if column++; r == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			ends++ // to YAML this ends a line, too
		}
		if ends > maxLines {
			return "", &Error{Line: line, Column: column, Msg: fmt.Sprintf("more than %d lines", maxLines)}
		}
	}
	return text, nil
}

// isControl reports what has no place in a text but the ends of lines and tabs: it
// would reach terminals and file names.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
