// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Versions come from tags, and before the first one from the changelog.
func TestVersionOfCheckout(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "mk"), 0o755))
	must(t, exec.Command("cp", "version.sh", filepath.Join(dir, "mk")).Run())
	version := func() string {
		t.Helper()
		out, err := exec.Command(dir + "/mk/version.sh").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.example", "-c",
			"commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	change := func(text string) { write(t, 0o644, "# Changelog\n\n"+text, dir, "CHANGELOG.md") }
	check := func(form string) {
		t.Helper()
		if got := version(); !regexp.MustCompile("^" + form + "$").MatchString(got) {
			t.Errorf("%s, want %s", got, form)
		}
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	change("## 0.1.0, not released yet\n\n## 0.0.9\n")
	check("devel")
	git("init", "-q")
	check("devel")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	hash := `g[0-9a-f]{12}`
	check(`0\.1\.0-dev\.1\+` + hash)
	change("## 0.1.0\n")
	check(`0\.1\.0-dev\.1\+` + hash + `\.dirty`)
	write(t, 0o644, "", dir, "untracked")
	git("commit", "-q", "-a", "-m", "two")
	check(`0\.1\.0-dev\.2\+` + hash)
	git("tag", "-m", "x", "v0.1.0-rc.1")
	check(`0\.1\.0-rc\.1`)
	git("tag", "nightly") // none of ours
	git("commit", "-q", "--allow-empty", "-m", "three")
	check(`0\.1\.0-rc\.1\+1\.` + hash)
	git("tag", "v0.1.0") // without a message
	check(`0\.1\.0`)
	change("## 0.2.0\n")
	check(`0\.1\.0\+dirty`)
}
