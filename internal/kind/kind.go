// SPDX-License-Identifier: MIT

// Package kind tells tests apart by what their result can depend on (docs/testing.md).
//
// A pure test depends on the code and on its testdata: it asks no clock, no network and no other
// process. A package whose tests are pure says so, once:
//
//	const _ = kind.Pure
//
// A kernel test asks a kernel: sockets, namespaces, processes, the lab. It waits for events
// (package await), and says nothing about how long something took, or how much came in some time.
// That is what a test is that has no mark, in a package that has none.
//
// A timed test says something about rates, windows, latencies or CPU times. It calls [Timed] first.
// make test runs it after all others, alone.
//
// A test of package mk finds tests whose calls do not fit their mark.
package kind

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/internal/starved"
)

// Pure marks the package that names it: its tests are pure, but for those that call [Kernel] or
// [Timed].
const Pure = "pure"

// Kernel marks a kernel test in a package of pure ones. It is the test's first call.
func Kernel(testing.TB) {}

// Timed marks a timed test. It is the test's first call.
//
// When the test has failed and others had the CPUs meanwhile, its output says so in a line that
// begins with [Undecided]: such a failure says nothing about the code.
func Timed(t testing.TB) {
	t.Helper()
	watch := starved.Watch(starved.Self)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		switch load, err := watch.Load(); {
		case err != nil:
			t.Logf("timed test: what else ran is not known: %v", err)
		case load.Starved():
			t.Log(Undecided + fmt.Sprint(load))
		default:
			t.Logf("timed test: not starved: %v", load)
		}
	})
}

// Undecided begins the line of a timed test that failed while it was starved by others.
const Undecided = "undecided: starved by others: "
