// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// What an agent says is not trusted: its host may be anybody's. Whatever it is,
// strings are made printable and cut, and numbers that no host has are refused,
// before anything else sees them. What each message means beyond that, its Check
// says.
const (
	mostText  = 16 << 10 // bytes of a string
	mostItems = 1 << 20  // of a list
	mostValue = 1e30     // of a figure: sums and products of some of them stay finite
)

// checker is a message that knows what no agent of ours says.
type checker interface{ Check() error }

// Plain cleans and checks what v points at, as if an agent had said it.
func Plain(v any) error { return vet(reflect.ValueOf(v)) }

// vet cleans all that v holds, and checks it from the inside out.
func vet(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return vet(v.Elem())
	case reflect.Struct:
		return vetStruct(v)
	case reflect.Slice:
		return vetSlice(v)
	case reflect.String:
		v.SetString(clean(v.String()))
	case reflect.Float64:
		return finite(v.Float())
	case reflect.Map, reflect.Interface:
		return fmt.Errorf("%s cannot be checked", v.Type()) // no message has any
	}
	return nil
}

func vetStruct(v reflect.Value) error {
	for i := range v.NumField() {
		if f := v.Field(i); f.CanSet() {
			if err := vet(f); err != nil {
				return fmt.Errorf("%s: %w", jsonName(v.Type().Field(i)), err)
			}
		}
	}
	if c, ok := v.Addr().Interface().(checker); ok {
		return c.Check()
	}
	return nil
}

func vetSlice(v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil // of a line, whose length is bounded: results that are not decoded yet
	}
	if v.Len() > mostItems {
		return fmt.Errorf("a list of %d", v.Len())
	}
	switch all := v.Interface().(type) {
	case []int64:
		return nil
	case []float64: // of series: there are many
		for _, x := range all {
			if err := finite(x); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range v.Len() {
		if err := vet(v.Index(i)); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

func finite(x float64) error {
	if math.IsNaN(x) || math.Abs(x) > mostValue {
		return fmt.Errorf("%g is not a valid figure", x)
	}
	return nil
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// clean makes text printable, on one line: joined errors have several. What moves
// a terminal's cursor, turns writing around or is no UTF-8 shows as U+FFFD.
func clean(s string) string {
	if len(s) > mostText {
		s = strings.ToValidUTF8(s[:mostText], "") + "..."
	}
	if plaintext.IsASCII(s) {
		return s
	}
	s = strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\n", "; ")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, s)
}
