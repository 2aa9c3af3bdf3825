// SPDX-License-Identifier: MIT

package plan

import (
	"reflect"
	"slices"
	"testing"
)

// Every field of Gates that is a number has its limit, and no other's.
func TestLimits(t *testing.T) {
	n := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Gates]()) {
		if f.Type == reflect.TypeFor[*float64]() {
			n++
		}
	}
	if n != len(Limits) {
		t.Errorf("%d limits for %d gates", len(Limits), n)
	}
	seen := map[**float64]bool{}
	var g Gates
	for _, l := range Limits {
		if seen[l.At(&g)] || l.Key == "" || l.Name == "" || l.Judged == "" || !slices.Contains(GateClasses, l.Class) {
			t.Errorf("%+v", l)
		}
		seen[l.At(&g)] = true
	}
	if d := DefaultGates(); d.Coverage != nil || d.Copied == nil || *d.Copied != .01 {
		t.Errorf("defaults %+v", d)
	}
}
