// SPDX-License-Identifier: MIT

package elements

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// Whatever stands in a list is one of it, and what stands in texts is not.
func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 0, `{"a":1,"b":{"c":2}}`: 0, `[]`: 1, `[1]`: 1, `[1,2,3]`: 3, `[{},{},{}]`: 3, `[[],[]]`: 4,
		`[null , null]`:         2,
		`{"a":["x,y","[,,,]"]}`: 2, `{"a":["\"","\\",",\\\","]}`: 3, `{"a":"\\","b":[1,2]}`: 2, `{"v":[1,2,3]}`: 0,
		`{"t_ns":[1,2,3],"v":[0]}`: 0,
		`{"v":[[1,2],[3]]}`:        4 - 1, `["v",[1,2]]`: 4, `{"v":1,"a":[1,2]}`: 2, `{"V":[1,2]}`: 2,
		`[{"v":[1]},{"v":[1]}]`: 2,
		`[1,"`:                  2, `["\`: 1, `]]]]}`: 0, ``: 0,
	} {
		if got, err := Count([]byte(text), Bounds{100, 100}); got.Elements != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
}

// The points of a series are counted apart.
func TestCountPoints(t *testing.T) {
	if got, err := Count([]byte(`{"v":[1,2,3],"t_ns":[],"a":[1]}`), Bounds{9, 9}); got != (Bounds{1, 4}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// It stops at the bound, and says which one it is.
func TestCountStops(t *testing.T) {
	for text, most := range map[string]Bounds{`[1,2,3]`: {2, 9}, `[[[]]]`: {2, 9}, `{"v":[1,2,3]}`: {9, 2},
		`{"v":[1],"t_ns":[1,2]}`: {9, 2}} {
		_, err := Count([]byte(text), most)
		e := (*tooManyError)(nil)
		if !errors.As(err, &e) || e.Points != (most.Points == 2) || e.Most != 2 {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Count([]byte("["+strings.Repeat("0,", 10)+"0]"), Bounds{11, 0}); err != nil {
		t.Error(err)
	}
}

// No decoder makes more of a text than was counted.
func FuzzCount(f *testing.F) {
	for _, s := range []string{`[1,[2,"]"],{"v":[1,2]}]`, `{"a":["\\\"",{}]}`, `{"t_ns":[{"a":[1,2]}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return
		}
		n, err := Count(text, Bounds{1 << 40, 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		if made := made(v, false); n.Elements < made {
			t.Errorf("%d elements counted, and %d made", n.Elements, made)
		}
	})
}

// made counts the elements of lists that a text became, but for points.
func made(v any, points bool) (n int) {
	switch v := v.(type) {
	case []any:
		if !points {
			n = len(v)
		}
		for _, x := range v {
			n += made(x, false)
		}
	case map[string]any:
		for name, x := range v {
			n += made(x, name == "v" || name == "t_ns")
		}
	}
	return n
}
