// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// fill sets every field of v to something that is not its zero value.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(strings.Repeat("s", *n%5+1))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	default:
		panic("no value for " + v.Type().String())
	}
}

// Every field of every message arrives.
func TestMessagesRoundTrip(t *testing.T) {
	for _, m := range []any{&Request{}, &Response{}, &Error{}, &Hello{}, &HelloResult{}, &Owed{}, &Clock{},
		&ModeSupport{}, &Check{}, &Interface{},
		&EndSpec{}, &Opened{}, &Schedule{}, &EndResult{}, &PowerSource{}, &PowerRead{}, &PowerReading{}, &RestParams{},
		&Rest{}, &PathParams{}, &PathOpened{}, &PathReading{}} {
		for name, full := range map[string]bool{"empty": false, "full": true} {
			v := reflect.New(reflect.TypeOf(m).Elem())
			if n := 0; full {
				fill(v.Elem(), &n)
			}
			var b bytes.Buffer
			if err := NewEncoder(&b).Encode(v.Interface()); err != nil {
				t.Fatal(err)
			}
			got := reflect.New(v.Type().Elem())
			if err := NewDecoder(&b).Decode(got.Interface()); err != nil {
				t.Errorf("%s %T: %v", name, m, err)
			} else if d := cmp.Diff(v.Elem().Interface(), got.Elem().Interface()); d != "" {
				t.Errorf("%s %T changed on the way (-want +got):\n%s", name, m, d)
			}
		}
	}
}

func TestFieldNamesAreLowerCase(t *testing.T) {
	b, err := json.Marshal(EndResult{Verdict: results.OK})
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for k := range m {
		if k != strings.ToLower(k) {
			t.Errorf("field %q: the struct lacks a tag", k)
		}
	}
}

func TestParametersAreStrict(t *testing.T) {
	for _, c := range []struct{ params, say string }{
		{``, "open: parameters missing"},
		{`{"role":"rx","cookie":"00"}`, "cookie"},
		{`{"role":"rx","oops":1}`, "oops"},
		{`{} {}`, "more after"},
		{`null`, "not a JSON object"},
	} {
		err := Request{Op: OpOpen, Params: json.RawMessage(c.params)}.Decode(&EndSpec{})
		if err == nil || !strings.Contains(err.Error(), c.say) || !strings.HasPrefix(err.Error(), "open: ") {
			t.Errorf("%q: %v", c.params, err)
		}
	}
	var s EndSpec
	if err := (Request{Op: OpOpen, Params: json.RawMessage(`{"role":"tx","flows":[{"cpu":3}]}`)}).Decode(
		&s); err != nil || s.Role != stream.TX || s.Flows[0].CPU != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestErrorSaysItsFix(t *testing.T) {
	if e := (&Error{Message: "no", How: "do"}); e.Error() != "no" || fault.Fix(e) != "do" {
		t.Errorf("%v, %q", e, fault.Fix(e))
	}
}
