// SPDX-License-Identifier: MIT

package streamtest

import (
	"testing"

	"github.com/zcbench/zcbench/flow/uring"
)

// EachEngine runs f for each io_uring engine that is built in, as a subtest with
// its name.
func EachEngine(t *testing.T, f func(t *testing.T, engine string)) {
	for _, e := range uring.Engines() {
		t.Run(string(e), func(t *testing.T) { f(t, string(e)) })
	}
}
