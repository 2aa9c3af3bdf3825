// SPDX-License-Identifier: MIT

package sock

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
)

// A nap is no shorter than it was asked for, unless a signal ends it: then the next one is not.
func TestNap(t *testing.T) {
	kind.Timed(t)
	const asked = 2 * time.Millisecond
	n := NewNapper(asked)
	longest := time.Duration(0)
	for range 10 {
		began := time.Now()
		n.Nap()
		longest = max(longest, time.Since(began))
	}
	if longest < asked {
		t.Errorf("the longest of 10 naps of %v took %v", asked, longest)
	}
}

func TestNapAllocatesNothing(t *testing.T) {
	n := NewNapper(2 * time.Millisecond)
	if a := testing.AllocsPerRun(10, n.Nap); a != 0 {
		t.Errorf("%v allocations a nap", a)
	}
}
