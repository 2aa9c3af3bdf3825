// SPDX-License-Identifier: MIT

package lab

import (
	"os"
	"testing"
)

// An entry of another version, or none at all, is built again.
func TestHasSelftests(t *testing.T) {
	t.Parallel()
	c := &cache{dir: t.TempDir()}
	const release = "7.3.4+deb13-amd64"
	if c.hasSelftests(release) {
		t.Error("there is none")
	}
	if err := os.MkdirAll(c.path("selftests", release), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"": false, "old\n": false, recipe() + "\n": true} {
		if err := os.WriteFile(c.path("selftests", release, selftestRecipe), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := c.hasSelftests(release); got != want {
			t.Errorf("recipe %q: %v, want %v", text, got, want)
		}
	}
}

func TestQemuWord(t *testing.T) {
	t.Parallel()
	if got := qemuWord("/a,b/c"); got != "/a,,b/c" {
		t.Error(got)
	}
}
