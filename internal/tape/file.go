// SPDX-License-Identifier: MIT

package tape

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// A record's file. A version that this program does not know is refused; within one, fields
// that it does not know are.
const (
	format  = "zcbench-record"
	version = 1
)

// Limits of a record: a NIC with a table of 8192 entries stays far below.
const (
	MaxBytes   = 4 << 20 // of a file
	maxAnswers = 4096
	maxAsked   = 256 << 10 // bytes of one question
)

// File is a record.
type File struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Tool    string   `json:"tool_version"` // that made it
	Dev     string   `json:"dev"`          // the interface that it is about
	Answers []Answer `json:"answers"`      // in the order in which was asked
}

// Answer is a question, and what the kernel said: a value, or a failure.
type Answer struct {
	Asked  string          `json:"asked"`
	Got    json.RawMessage `json:"got,omitempty"`
	Failed *Failure        `json:"failed,omitempty"`
}

// Bytes are raw bytes, in hexadecimal.
type Bytes []byte

// MarshalText writes them.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// UnmarshalText reads them.
func (b *Bytes) UnmarshalText(t []byte) error {
	d, err := hex.DecodeString(string(t))
	*b = d
	return err
}

// Write writes the record for people to read: a line for each answer.
func (f *File) Write(w io.Writer) error {
	var out bytes.Buffer
	head, err := json.Marshal(File{Format: f.Format, Version: f.Version, Tool: f.Tool, Dev: f.Dev, Answers: []Answer{}})
	if err != nil {
		return err
	}
	out.Write(bytes.TrimSuffix(head, []byte("]}")))
	for i, a := range f.Answers {
		b, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("the answer to %.200q: %w", a.Asked, err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(b)
	}
	out.WriteString("\n]}\n")
	if out.Len() > MaxBytes {
		return fmt.Errorf("the record has %d bytes, more than %d", out.Len(), MaxBytes)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// syntaxError is a file that is no record, with the place.
type syntaxError struct {
	Name         string
	Line, Column int // from 1
	Err          error
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", e.Name, e.Line, e.Column, e.Err)
}
func (e *syntaxError) Unwrap() error { return e.Err }

// Parse reads a record; name is the file's, for errors.
func Parse(name string, text []byte) (*File, error) {
	at := func(offset int64, err error) error {
		before := text[:max(0, min(int(offset), len(text)))]
		return &syntaxError{name, bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before,
			'\n'), err}
	}
	if len(text) > MaxBytes {
		return nil, at(MaxBytes, fmt.Errorf("longer than %d bytes", MaxBytes))
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	f := new(File)
	if err := dec.Decode(f); err != nil {
		return nil, at(offsetOf(text, err), plainError(err))
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return nil, at(int64(len(text)-len(rest)), errors.New("data after the record"))
	}
	if err := f.Check(); err != nil {
		var bad *badAnswer
		if errors.As(err, &bad) {
			return nil, at(placeOf(text, bad.index), err)
		}
		return nil, at(0, err)
	}
	return f, nil
}

// offsetOf finds where a decoder met an error.
func offsetOf(text []byte, err error) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return max(syntax.Offset-1, 0)
	case errors.As(err, &kind):
		return kind.Offset
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok { // quoted; the library says no more
		return int64(max(bytes.Index(text, []byte(field)), 0))
	}
	return int64(len(text))
}

// plainError rids an error of words of the file that a terminal would obey.
func plainError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends in the middle of the record")
	}
	const most = 200 // it may quote a field of any length
	return errors.New(plaintext.Line(fmt.Sprintf("%.*s", most, strings.TrimPrefix(err.Error(), "json: "))))
}

// placeOf finds where answer number index begins, of a record that could be decoded.
func placeOf(text []byte, index int) int64 {
	dec := json.NewDecoder(bytes.NewReader(text))
	depth, inAnswers := 0, false
	for {
		t, err := dec.Token()
		if err != nil {
			return 0
		}
		switch d, _ := t.(json.Delim); {
		case d == '[' && depth == 1 && inAnswers:
			var skip json.RawMessage
			for ; index > 0 && dec.More(); index-- {
				if dec.Decode(&skip) != nil {
					return 0
				}
			}
			start := dec.InputOffset()
			return start + int64(bytes.IndexByte(text[start:], '{'))
		case d == '{' || d == '[':
			depth++
		case d == '}' || d == ']':
			depth--
		}
		if s, ok := t.(string); ok && depth == 1 {
			inAnswers = strings.EqualFold(s, "answers")
		}
	}
}

// badAnswer is an answer that no recording has.
type badAnswer struct {
	index int
	err   error
}

func (e *badAnswer) Error() string { return fmt.Sprintf("answer %d: %v", e.index+1, e.err) }
func (e *badAnswer) Unwrap() error { return e.err }

// Check refuses what no recording has. All words of a record that it takes are plain text.
func (f *File) Check() error {
	switch {
	case f.Format != format:
		return fmt.Errorf("not a record of zcbench doctor --record: format %.40q, want %q", f.Format, format)
	case f.Version != version:
		return fmt.Errorf("the record has version %d, but this zcbench reads version %d", f.Version, version)
	case len(f.Answers) > maxAnswers:
		return fmt.Errorf("%d answers, more than %d", len(f.Answers), maxAnswers)
	case !plain(f.Tool) || strings.ContainsAny(f.Tool, "\n\t") || len(f.Tool) > 200:
		return errors.New("tool_version is not plain text, or too long")
	case f.Dev != "" && !PlainName(f.Dev):
		return fmt.Errorf("dev %.40q is not a name that records use", f.Dev)
	}
	asked := map[string]bool{}
	for i, a := range f.Answers {
		if err := a.check(); err != nil {
			return &badAnswer{i, err}
		}
		if asked[a.Asked] {
			return &badAnswer{i, errors.New("the question has already been answered")}
		}
		asked[a.Asked] = true
	}
	return nil
}

func (a Answer) check() error {
	switch {
	case a.Asked == "" || len(a.Asked) > maxAsked:
		return fmt.Errorf("a question of %d bytes", len(a.Asked))
	case !plain(a.Asked):
		return errors.New("the question is not plain text")
	case len(a.Got) > 0 && a.Failed != nil:
		return errors.New("both a value and a failure")
	}
	if len(a.Got) > 0 {
		var v any
		if err := json.Unmarshal(a.Got, &v); err != nil {
			return err
		}
		if !plainValue(v) {
			return errors.New("the answer has text that is not plain")
		}
	}
	return a.Failed.check(0)
}

func (f *Failure) check(depth int) error {
	switch {
	case f == nil:
		return nil
	case depth > mostInner+1:
		return errors.New("failures are nested too deep")
	case f.Kind != "" && f.Kind != "error" && f.Kind != "unsupported" && f.Kind != "netlink":
		return fmt.Errorf("a failure of kind %.40q", f.Kind)
	case f.Errno < 0 || f.Errno > 4095:
		return fmt.Errorf("errno %d", f.Errno)
	case f.Kind == "" && f.Text == "" && f.Errno == 0:
		return errors.New("an empty failure")
	}
	for _, s := range []string{f.Mode, f.Op, f.Ack, f.How, f.Text} {
		if !plain(s) || len(s) > 16<<10 {
			return errors.New("a failure's text is not plain text, or too long")
		}
	}
	return f.Inner.check(depth + 1)
}

// PlainName reports whether a record may call an interface so: the name stands in commands.
func PlainName(dev string) bool { return plainName().MatchString(dev) }

var plainName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}$`)

// plain reports whether a terminal would obey nothing of s.
func plain(s string) bool { return plaintext.Clean(s) == s }

func plainValue(v any) bool {
	switch v := v.(type) {
	case string:
		return plain(v)
	case []any:
		for _, x := range v {
			if !plainValue(x) {
				return false
			}
		}
	case map[string]any:
		for k, x := range v {
			if !plain(k) || !plainValue(x) {
				return false
			}
		}
	}
	return true
}
