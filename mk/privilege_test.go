// SPDX-License-Identifier: MIT

package mk

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRootIsJudgedInOnePlace: whether being root helps depends on user namespaces, on what a
// container took away, and on filters. So no message tells to run as root but internal/privilege's.
func TestRootIsJudgedInOnePlace(t *testing.T) {
	ours := []string{"internal/privilege/", "lab/", // the lab is a program of its own, on the user's machine
		"machine/nic/", "packet/", "zc/", "profile/perf/"} // not yet
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, "../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "..":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		for _, dir := range ours {
			if strings.HasPrefix(name, dir) {
				return nil
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			code, _, _ := bytes.Cut(line, []byte("// "))
			if bytes.Contains(code, []byte("run as root")) {
				t.Errorf("%s:%d: ask internal/privilege instead: %s", name, n+1, bytes.TrimSpace(line))
			}
		}
		return nil
	})
	must(t, err)
}
