// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/kind"
)

// TestScriptTimed runs testdata/timed: scripts as those of [TestScript], whose windows must hold.
func TestScriptTimed(t *testing.T) {
	kind.Timed(t)
	bin := built.Dir(t)
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/timed",
		RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}
