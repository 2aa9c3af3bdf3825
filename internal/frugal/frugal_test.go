// SPDX-License-Identifier: MIT

package frugal

import (
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// failed notes that a test would have failed.
type failed struct {
	testing.TB
	so bool
}

func (f *failed) Fatalf(string, ...any) { f.so = true }

var kept [][]byte

// What allocates much fails, what allocates little does not.
func TestDo(t *testing.T) {
	for _, mb := range []int{1, 400} {
		f := &failed{TB: t}
		Do(f, func() {
			for range mb {
				kept = append(kept[:0], make([]byte, 1<<20))
			}
		})
		if f.so != (mb > 300) {
			t.Errorf("%d MB: failed %t", mb, f.so)
		}
	}
}
