// SPDX-License-Identifier: MIT

package results

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// quick reads a record's line as this zcbench writes it: without blanks and escapes, in our own
// keys. Of any other text it says that it cannot, and package json reads that: what the two make
// of a line is the same. It is there because a report is mostly the reading of its journal.
type quick struct {
	text []byte
	at   int
}

// quick reads a line without the hosts' metrics and series; false leaves l without a record.
func (k *known) quick(text []byte, l *line) bool {
	q, rec, detailed := quick{text: text}, &l.rec, false
	v := reflect.ValueOf(rec).Elem()
	ok := q.object(func(key []byte) bool {
		switch string(key) {
		case "cell":
			raw, ok := q.value()
			return ok && lookup(k.cells, raw, &rec.Cell) == nil
		case "sut":
			return k.quickHost(&q, &rec.SUT)
		case "tg":
			return k.quickHost(&q, &rec.TG)
		case "detailed":
			return q.set(reflect.ValueOf(&detailed).Elem())
		}
		i, ok := recordFields[string(key)]
		return ok && q.set(v.Field(i))
	})
	if !ok || q.at != len(text) || rec.Schema <= lastPlainSchema {
		l.rec = Record{}
		return false
	}
	l.detailed = detailed
	return true
}

func (k *known) quickHost(q *quick, h *Host) bool {
	v := reflect.ValueOf(h).Elem()
	return q.object(func(key []byte) bool {
		if string(key) == "env" {
			raw, ok := q.value()
			return ok && lookup(k.envs, raw, &h.Env) == nil
		}
		i, ok := hostFields[string(key)]
		return ok && q.set(v.Field(i))
	})
}

var (
	recordFields = fieldsOf[Record]("cell", "sut", "tg")
	hostFields   = fieldsOf[Host]("env", "metrics", "series")
)

// fieldsOf indexes the fields of a struct by JSON key, except those in but.
func fieldsOf[T any](but ...string) map[string]int {
	out := map[string]int{}
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if f := t.Field(i); f.IsExported() && !f.Anonymous && key != "" && key != "-" {
			out[key] = i
		}
	}
	for _, key := range but {
		delete(out, key)
	}
	return out
}

// set reads a value into a field.
func (q *quick) set(v reflect.Value) bool {
	switch to := v.Addr().Interface().(type) {
	case **float64:
		f, ok := q.float()
		*to = &f
		return ok
	case **uint64:
		n, err := strconv.ParseUint(string(q.number()), 10, 64)
		*to = &n
		return err == nil
	case *[]string:
		return q.words(to)
	case json.Unmarshaler, encoding.TextUnmarshaler:
	default:
		switch v.Kind() {
		case reflect.String:
			s, ok := q.word()
			v.SetString(string(s))
			return ok
		case reflect.Int, reflect.Int64:
			n, err := strconv.ParseInt(string(q.number()), 10, 64)
			v.SetInt(n)
			return err == nil && !v.OverflowInt(n)
		case reflect.Bool:
			b, ok := q.bool()
			v.SetBool(b)
			return ok
		}
	}
	raw, ok := q.value()
	return ok && json.Unmarshal(raw, v.Addr().Interface()) == nil
}

func (q *quick) eat(c byte) bool {
	if q.at < len(q.text) && q.text[q.at] == c {
		q.at++
		return true
	}
	return false
}

// object calls each for the keys of an object; that reads their values.
func (q *quick) object(each func(key []byte) bool) bool {
	if !q.eat('{') {
		return false
	}
	for more := !q.eat('}'); more; {
		key, ok := q.word()
		if !ok || !q.eat(':') || !each(key) {
			return false
		}
		if more = q.eat(','); !more && !q.eat('}') {
			return false
		}
	}
	return true
}

// word scans a string of ASCII without escapes.
func (q *quick) word() ([]byte, bool) {
	if !q.eat('"') {
		return nil, false
	}
	for from := q.at; q.at < len(q.text); q.at++ {
		switch c := q.text[q.at]; {
		case c == '"':
			q.at++
			return q.text[from : q.at-1], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

func (q *quick) words(to *[]string) bool {
	if !q.eat('[') {
		return false
	}
	*to = []string{}
	for more := !q.eat(']'); more; {
		w, ok := q.word()
		if !ok {
			return false
		}
		*to = append(*to, string(w))
		if more = q.eat(','); !more && !q.eat(']') {
			return false
		}
	}
	return true
}

func (q *quick) bool() (v, ok bool) {
	for _, word := range []string{"true", "false"} {
		if rest := q.text[q.at:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			q.at += len(word)
			return word == "true", true
		}
	}
	return false, false
}

func (q *quick) float() (float64, bool) {
	v, err := strconv.ParseFloat(string(q.number()), 64)
	return v, err == nil
}

// number scans a JSON number; empty if there is none.
func (q *quick) number() []byte {
	from := q.at
	q.eat('-')
	if !q.eat('0') && !q.digits() {
		return nil
	}
	if q.eat('.') && !q.digits() {
		return nil
	}
	if q.eat('e') || q.eat('E') {
		if !q.eat('+') {
			q.eat('-')
		}
		if !q.digits() {
			return nil
		}
	}
	return q.text[from:q.at]
}

func (q *quick) digits() (any bool) {
	for q.at < len(q.text) && '0' <= q.text[q.at] && q.text[q.at] <= '9' {
		q.at, any = q.at+1, true
	}
	return any
}

// value scans an object or array up to its end. It leaves it to the reader to find out whether that
// is sound.
func (q *quick) value() ([]byte, bool) {
	from, depth, quoted := q.at, 0, false
	if !q.eat('{') && !q.eat('[') {
		return nil, false
	}
	for depth = 1; depth > 0; q.at++ {
		if q.at >= len(q.text) {
			return nil, false
		}
		switch c := q.text[q.at]; {
		case quoted && c == '\\':
			q.at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > 1000 { // package json has a limit of its own
				return nil, false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return q.text[from:q.at], true
}
