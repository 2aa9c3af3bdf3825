// SPDX-License-Identifier: MIT

package nic

import "testing"

// Notes read as they were written, and nothing else does.
func TestPlaceNote(t *testing.T) {
	for _, text := range []string{"", "unknown", "not at", "not at 0 7 4294967295", "at 1023", "deleted"} {
		if n, err := parsePlaceNote(text); err != nil || n.String() != text {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"at", "at 1 2", "deleted 1", "deleted 1 2", "x", "not  at 1", "1 at", "at 4294967296",
		"3"} {
		if n, err := parsePlaceNote(text); err == nil {
			t.Errorf("%q: %v", text, n)
		}
	}
}
