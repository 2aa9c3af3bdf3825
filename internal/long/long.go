// SPDX-License-Identifier: MIT

// Package long tells tests that take minutes whether they are wanted: make test
// leaves them out, make test-long runs them.
package long

import (
	"os"
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

// Rounds is how often a test repeats what it does: few, or many where what takes
// minutes is asked for.
func Rounds(few, many int) int {
	if Wanted() {
		return many
	}
	return few
}
