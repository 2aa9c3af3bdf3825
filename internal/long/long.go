// SPDX-License-Identifier: MIT

// Package long tells tests that take minutes whether they are wanted: make test
// leaves them out, make test-long runs them.
package long

import (
	"os"
	"runtime/debug"
	"testing"
)

// Env, when set, asks for what takes minutes.
const Env = "ZCBENCH_TEST_LONG"

// Wanted reports whether it is asked for.
func Wanted() bool { return os.Getenv(Env) != "" }

// Test skips a test that is long, unless it is asked for.
func Test(t testing.TB) {
	t.Helper()
	if !Wanted() {
		t.Skip("takes minutes: make test-long")
	}
}

// Rounds returns how often a test repeats what it does: few, or many where what takes minutes is
// asked for.
func Rounds(few, many int) int {
	if Wanted() {
		return many
	}
	return few
}

// Garbage lets garbage wait while a test lasts that makes thousands of small things and keeps none:
// collecting it takes half of such a test's time, and a hundred megabytes hold it.
func Garbage(t testing.TB) {
	t.Helper()
	was := debug.SetGCPercent(1600)
	t.Cleanup(func() { debug.SetGCPercent(was) })
}
