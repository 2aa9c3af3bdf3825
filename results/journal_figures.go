// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"encoding/json"
)

// parser makes a record of a journal line. It is used by one goroutine.
type parser func([]byte) (Record, error)

func unmarshal(data []byte) (Record, error) {
	var r Record
	err := json.Unmarshal(data, &r)
	return r, err
}

func wholeRecords() parser { return unmarshal }

// figuresOnly makes a parser that leaves out the hosts' metrics and series before
// the line is parsed: they are nine tenths of it, and walking over them is ten
// times as fast as parsing them. What hardly ever changes from line to line, the
// cell and the hosts' environments, is parsed once and then known by its text. A
// run with probes keeps its metrics: there the probes' figures are.
func figuresOnly() parser {
	k := known{cells: map[string]Cell{}, envs: map[string]Env{}}
	return k.parse
}

type known struct {
	cells map[string]Cell
	envs  map[string]Env
}

func (k *known) parse(data []byte) (Record, error) {
	l := lean(data)
	r, err := unmarshal(l.rest)
	if err == nil {
		err = k.fill(&r, &l)
	}
	if err != nil || l.odd || r.Cell.Probe != "" { // is told of the line as it stands
		r, err = unmarshal(data)
	}
	if r.Cell.Probe == "" {
		r.SUT.Metrics, r.TG.Metrics = nil, nil
	}
	r.SUT.Series, r.TG.Series = nil, nil
	return r, err
}

func (k *known) fill(r *Record, l *leanLine) error {
	if l.cell != nil {
		c, err := lookup(k.cells, l.cell)
		if err != nil {
			return err
		}
		r.Cell = c
	}
	for _, e := range []struct {
		text []byte
		env  *Env
	}{{l.sutEnv, &r.SUT.Env}, {l.tgEnv, &r.TG.Env}} {
		if e.text == nil {
			continue
		}
		v, err := lookup(k.envs, e.text)
		if err != nil {
			return err
		}
		*e.env = v
	}
	return nil
}

func lookup[T any](known map[string]T, text []byte) (T, error) {
	v, ok := known[string(text)]
	if ok {
		return v, nil
	}
	err := json.Unmarshal(text, &v)
	if err == nil {
		known[string(text)] = v
	}
	return v, err
}

// leanLine is a journal line taken apart.
type leanLine struct {
	rest                []byte // with the lists and objects below emptied
	cell, sutEnv, tgEnv []byte // objects; nil: not there
	odd                 bool   // no line of ours: to be parsed as it stands
}

// lean empties the lists "metrics" and "series" of the objects one level inside a
// JSON object, and takes its "cell" and the hosts' "env" out. A text that is no
// JSON stays none: only what stands between the two brackets of such a list is not
// looked at.
func lean(data []byte) (l leanLine) {
	l.rest = make([]byte, 0, min(len(data), 8<<10))
	kept, depth, parent := 0, 0, []byte(nil) // data[:kept] is in rest, or left out
	leaveOut := func(from, to int) {
		l.rest = append(l.rest, data[kept:from]...)
		kept = to
	}
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(data, i)
			if end < 0 {
				return leanLine{rest: data, odd: true}
			}
			name := data[i+1 : end]
			i = end
			if depth > 2 || end+2 >= len(data) || data[end+1] != ':' {
				continue
			}
			if !plainName(name) { // may be one of ours in other letters
				l.odd = true
			}
			if depth == 1 {
				parent = name
			}
			open, from := data[end+2], end+3
			var piece *[]byte
			switch {
			case open == '[' && depth == 2 && (string(name) == "metrics" || string(name) == "series"):
			case open == '{' && depth == 2 && string(parent) == "sut" && string(name) == "env":
				piece = &l.sutEnv
			case open == '{' && depth == 2 && string(parent) == "tg" && string(name) == "env":
				piece = &l.tgEnv
			case open == '{' && depth == 1 && string(parent) == "cell":
				piece = &l.cell
			default:
				continue
			}
			to := closing(data, from, open)
			if to < 0 {
				return leanLine{rest: data, odd: true}
			}
			if piece != nil {
				l.odd = l.odd || *piece != nil // twice
				*piece = data[from-1 : to+1]
			}
			leaveOut(from, to)
			i = to
		}
	}
	leaveOut(len(data), len(data))
	return l
}

// plainName tells whether a name is written as ours are. The decoder does not tell
// upper case from lower.
func plainName(name []byte) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// stringEnd is where the string that begins at data[i] has its closing quote.
func stringEnd(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for data[i-1-slashes] == '\\' { // ends at the opening quote at the latest
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// closing is where the list or object that open began, and whose inside begins at
// data[i], has its other bracket.
func closing(data []byte, i int, open byte) int {
	shut := open + 2 // [ ] and { } are two apart
	if end, ok := closingPlain(data, i, open, shut); ok {
		return end
	}
	for depth := 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = stringEnd(data, i); i < 0 {
				return -1
			}
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// closingPlain is [closing] by whole searches, which are several times as fast as
// looking at byte after byte. It is not ok where a string has an escape.
func closingPlain(data []byte, i int, open, shut byte) (end int, ok bool) {
	depth, inString := 1, false
	for {
		n := bytes.IndexByte(data[i:], shut)
		if n < 0 {
			return -1, false
		}
		part := data[i : i+n]
		if bytes.IndexByte(part, '\\') >= 0 {
			return -1, false
		}
		for {
			k := bytes.IndexByte(part, open)
			if k < 0 {
				break
			}
			if inString = inString != odd(bytes.Count(part[:k], quote)); !inString {
				depth++
			}
			part = part[k+1:]
		}
		if inString = inString != odd(bytes.Count(part, quote)); !inString {
			if depth--; depth == 0 {
				return i + n, true
			}
		}
		i += n + 1
	}
}

var quote = []byte{'"'}

func odd(n int) bool { return n%2 == 1 }
