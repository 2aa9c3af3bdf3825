// SPDX-License-Identifier: MIT

package survey

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
)

// The form in which [Snapshot.Encode] writes a snapshot that changes no other one.
const (
	quickHead  = `{"format":"` + format + `","version":1,"facts":[` + "\n"
	quickTail  = "\n]}\n"
	quickName  = `{"name":"`
	quickValue = `","value":"`
	quickEnd   = `"}`
)

// quick reads a snapshot in the form that we write, and nothing else: of any other text it says
// nil, and [Parse] reads that. What the two make of a text is the same. It is there because
// thousands of
// hosts have thousands of facts each.
func quick(text string) *Snapshot {
	body, ok := strings.CutPrefix(text, quickHead)
	if !ok || len(text) > MaxBytes {
		return nil
	}
	if body, ok = strings.CutSuffix(body, quickTail); !ok {
		return nil
	}
	s := &Snapshot{Format: format, Version: version, Facts: make([]Fact, 0, strings.Count(body, "\n")+1)}
	before := ""
	for more := true; more; {
		var one string
		one, body, more = strings.Cut(body, "\n")
		if more {
			if one, ok = strings.CutSuffix(one, ","); !ok {
				return nil
			}
		}
		f, ok := quickFact(one)
		if !ok || !named(f.Name) || f.Name <= before || len(f.Value) > maxValue || len(s.Facts) == maxFacts {
			return nil
		}
		before = f.Name
		s.Facts = append(s.Facts, f)
	}
	return s
}

// quickFact reads the line of a fact.
func quickFact(one string) (f Fact, ok bool) {
	plain := true
	for i := range len(one) {
		if c := one[i]; c < ' ' || c > '~' || c == '\\' {
			plain = false
			break
		}
	}
	if !plain { // with escapes, or other letters than those of English
		if json.Unmarshal([]byte(one), &f) != nil || string(line(f)) != one || !oneLine(f.Name) || !oneLine(f.Value) {
			return f, false
		}
		return f, true
	}
	if one, ok = strings.CutPrefix(one, quickName); !ok {
		return f, false
	}
	if one, ok = strings.CutSuffix(one, quickEnd); !ok {
		return f, false
	}
	f.Name, f.Value, ok = strings.Cut(one, quickValue)
	return f, ok && !strings.Contains(f.Name, `"`) && !strings.Contains(f.Value, `"`)
}

// ErrChanged is a text that is not the one which a hash names.
var ErrChanged = errors.New("it is not the file that the runs name: it has changed since")

// ParseNamed does what [Parse] does, for the text that a hash names.
func ParseNamed(text []byte, hash string) (*Snapshot, error) {
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) == hash {
		if s := quick(string(text)); s != nil {
			return s, nil
		}
	}
	s, err := Parse(text)
	if err == nil && s.Hash() != hash {
		s, err = nil, ErrChanged
	}
	return s, err
}
