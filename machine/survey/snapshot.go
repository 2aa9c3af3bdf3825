// SPDX-License-Identifier: MIT

package survey

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// A snapshot's file. A version that this program does not know is refused.
const (
	format  = "zcbench-environment"
	version = 1
)

// Limits of a snapshot. That of a host of 512 CPUs with a NIC of 512 queues stays far below:
// most facts are sysctls and options of the kernel's build.
const (
	MaxBytes  = 1 << 20 // of a file
	maxFacts  = 12_000
	maxName   = 160
	maxValue  = 4096
	separator = "/" // between an area and the rest of a name
)

// Fact is one thing about a host. Its name begins with its area: "sysctl/net.core.rmem_max".
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Area returns what the fact's name begins with.
func (f Fact) Area() string {
	area, _, _ := strings.Cut(f.Name, separator)
	return area
}

// The areas of facts that change while a host is up: by settings, or by anybody.
var live = []string{"sysctl", "cpufreq", "memory", "nic", "cgroup"}

// Live reports whether the fact may change while the host is up.
func (f Fact) Live() bool { return slices.Contains(live, f.Area()) }

// Snapshot are the facts of a host. With a Base it has only what differs from that one.
type Snapshot struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Base    string   `json:"base,omitempty"` // hash of the snapshot that this one changes
	Facts   []Fact   `json:"facts"`          // by name
	Gone    []string `json:"gone,omitempty"` // facts of the base that are no more, by name
}

// New makes a snapshot of facts in any order. Of several with one name the first counts. What
// no snapshot can hold is cut, or left out: a host's oddity must not cost its figures.
func New(facts []Fact) *Snapshot {
	s := &Snapshot{Format: format, Version: version, Facts: []Fact{}}
	size := 0
	facts = slices.Clone(facts)
	slices.SortStableFunc(facts, func(a, b Fact) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range facts {
		f.Name, f.Value = plaintext.Line(f.Name), cut(plaintext.Line(f.Value), maxValue)
		n := len(s.Facts)
		long := 2*(len(f.Name)+len(f.Value)) + 32 // of plain text, JSON makes two bytes of one at the most
		if !named(f.Name) || n == maxFacts || size+long > MaxBytes-4096 || n > 0 && s.Facts[n-1].Name >= f.Name {
			continue
		}
		size += long
		s.Facts = append(s.Facts, f)
	}
	return s
}

// cut shortens a text to n bytes, and says so.
func cut(s string, n int) string {
	const mark = "..."
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}

// named reports whether a fact can have that name.
func named(name string) bool {
	area, rest, ok := strings.Cut(name, separator)
	return ok && area != "" && rest != "" && len(name) <= maxName &&
		strings.Trim(area, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Encode writes the snapshot in its only form, a fact a line.
func (s *Snapshot) Encode() []byte {
	var out bytes.Buffer
	head := Snapshot{Format: s.Format, Version: s.Version, Base: s.Base, Facts: []Fact{}}
	out.Write(bytes.TrimSuffix(line(head), []byte("]}")))
	for i, f := range s.Facts {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(line(f))
	}
	out.WriteString("\n]")
	if len(s.Gone) > 0 {
		out.WriteString(",\"gone\":")
		out.Write(line(s.Gone))
	}
	out.WriteString("}\n")
	return out.Bytes()
}

func line(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("survey: a snapshot is plain data: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Hash names a snapshot: SHA-256 of what [Snapshot.Encode] writes, in hexadecimal.
func (s *Snapshot) Hash() string {
	sum := sha256.Sum256(s.Encode())
	return hex.EncodeToString(sum[:])
}

// syntaxError is a text that is no snapshot, with the place.
type syntaxError struct {
	Line, Column int // from 1
	Err          error
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err) }
func (e *syntaxError) Unwrap() error { return e.Err }

// Parse reads a snapshot strictly. All words of one that it takes are plain text of one line.
func Parse(text []byte) (*Snapshot, error) {
	at := func(offset int, err error) error {
		before := text[:max(0, min(offset, len(text)))]
		return &syntaxError{bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n'), err}
	}
	if len(text) > MaxBytes {
		return nil, at(MaxBytes, fmt.Errorf("longer than %d bytes", MaxBytes))
	}
	if rest := bytes.TrimSpace(text); len(rest) == 0 || rest[0] != '{' {
		return nil, at(0, errors.New("not a snapshot of a host"))
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	s := new(Snapshot)
	if err := dec.Decode(s); err != nil {
		return nil, at(offsetOf(text, err), plain(err))
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return nil, at(len(text)-len(rest), errors.New("data after the snapshot"))
	}
	if err := s.Check(); err != nil {
		return nil, at(0, err)
	}
	return s, nil
}

// offsetOf finds where a decoder met an error.
func offsetOf(text []byte, err error) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return int(max(syntax.Offset-1, 0))
	case errors.As(err, &kind):
		return int(kind.Offset)
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok { // quoted; the library says no more
		return max(bytes.Index(text, []byte(field)), 0)
	}
	return len(text)
}

func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle of the snapshot")
	}
	return errors.New(cut(plaintext.Line(strings.TrimPrefix(err.Error(), "json: ")), 300))
}

// Check refuses what no snapshot of ours has.
func (s *Snapshot) Check() error {
	switch {
	case s.Format != format:
		return fmt.Errorf("not a snapshot of a host: format %.40q, want %q", s.Format, format)
	case s.Version != version:
		return fmt.Errorf("the snapshot has version %d, but this zcbench reads version %d", s.Version, version)
	case len(s.Facts) > maxFacts || len(s.Gone) > maxFacts:
		return fmt.Errorf("it has %d facts, more than %d", max(len(s.Facts), len(s.Gone)), maxFacts)
	case s.Base != "" && !IsHash(s.Base):
		return errors.New("its base is not a hash")
	case s.Base == "" && len(s.Gone) > 0:
		return errors.New("facts are removed, but there is no base with them")
	}
	before := ""
	for i, f := range s.Facts {
		switch {
		case !named(f.Name) || !oneLine(f.Name):
			return fmt.Errorf("fact %d: %.80q is not a name", i+1, f.Name)
		case f.Name <= before:
			return fmt.Errorf("fact %d: %.80q does not come after %.80q", i+1, f.Name, before)
		case len(f.Value) > maxValue || !oneLine(f.Value):
			return fmt.Errorf("fact %d: the value of %.80q is too long, or not one line of plain text", i+1, f.Name)
		}
		before = f.Name
	}
	for i, name := range s.Gone {
		if !named(name) || !oneLine(name) || i > 0 && name <= s.Gone[i-1] {
			return fmt.Errorf("gone %d: %.80q is not a name, or out of place", i+1, name)
		}
	}
	return nil
}

// oneLine reports whether s stays on its line and has nothing that a terminal obeys.
func oneLine(s string) bool { return plaintext.Line(s) == s }

// IsHash reports whether s has the form of what [Snapshot.Hash] returns: it becomes the name of a
// file.
func IsHash(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// Value of a fact; false: there is none.
func (s *Snapshot) Value(name string) (string, bool) {
	i, ok := slices.BinarySearchFunc(s.Facts, name, func(f Fact, name string) int { return cmp.Compare(f.Name, name) })
	if !ok {
		return "", false
	}
	return s.Facts[i].Value, true
}
