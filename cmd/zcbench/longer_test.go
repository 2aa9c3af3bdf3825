// SPDX-License-Identifier: MIT

package main

import (
	"testing"
	"time"
)

// longest is how long what is looked at lasts in the last try of longer: longer than a busy machine
// keeps threads from their CPUs.
const longest = 16 * time.Second

// longer looks at something that lasts for a fixed time, and for twice that time again and again
// until nothing is lacking: where others have the CPUs, little or nothing happens in a short time.
// What look says to be lacking in the last try fails the test. All else it checks each time.
func longer(t *testing.T, first time.Duration, look func(d string) (lacking string)) {
	t.Helper()
	for d := first; ; d *= 2 {
		lacking := look(d.String())
		if lacking == "" {
			return
		}
		if d >= longest {
			t.Errorf("within %v: %s", d, lacking)
			return
		}
		t.Logf("within %v: %s", d, lacking)
	}
}
