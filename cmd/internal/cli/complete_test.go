// SPDX-License-Identifier: MIT

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/plan"
)

// A shell completes the words of then, and the folder that follows write: without a space.
func TestThenIsCompleted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"some", "other", ".hidden"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "somefile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const space, none = cobra.ShellCompDirectiveNoFileComp, cobra.ShellCompDirectiveNoFileComp |
		cobra.ShellCompDirectiveNoSpace
	for typed, want := range map[string]struct {
		out []string
		how cobra.ShellCompDirective
	}{
		"":                        {[]string{"none", "forward", "splice", "write:"}, none},
		"fo":                      {[]string{"forward"}, space},
		"wri":                     {[]string{"write:"}, none},
		"write:":                  {[]string{"write:/"}, none},
		"write:" + dir + "/":      {[]string{"write:" + dir + "/other/", "write:" + dir + "/some/"}, none},
		"write:" + dir + "/so":    {[]string{"write:" + dir + "/some/"}, none},
		"write:" + dir + "/.h":    {[]string{"write:" + dir + "/.hidden/"}, none},
		"write:" + dir + "/none/": {nil, none},
		"write:so":                {nil, none},
		"x":                       {nil, space},
	} {
		out, how := wordsOrFolder(plan.LookupOption("then"))(nil, nil, typed)
		if !slices.Equal(out, want.out) || how != want.how {
			t.Errorf("%q: %q, %d; want %q, %d", typed, out, how, want.out, want.how)
		}
	}
}
