// SPDX-License-Identifier: MIT

package results

import (
	"reflect"
	"testing"
)

// Every field of Gates has its limit, and no other's.
func TestLimits(t *testing.T) {
	if n := reflect.TypeFor[Gates]().NumField(); n != len(Limits) {
		t.Errorf("%d limits for %d gates", len(Limits), n)
	}
	seen := map[**float64]bool{}
	var g Gates
	for _, l := range Limits {
		if seen[l.At(&g)] || l.Key == "" || l.Name == "" || l.Judged == "" {
			t.Errorf("%+v", l)
		}
		seen[l.At(&g)] = true
	}
	if d := DefaultGates(); d.Coverage != nil || d.Copied == nil || *d.Copied != .01 {
		t.Errorf("defaults %+v", d)
	}
}
