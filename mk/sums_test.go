// SPDX-License-Identifier: MIT

package mk

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A module without its checksum cannot be built from, but nobody notices where the tool was
// installed before: a machine that has nothing yet is the first that fails.
func TestSumsAreComplete(t *testing.T) {
	for _, folder := range []string{"..", "../tools", "tools"} {
		sums := sumsOf(t, folder+"/go.sum")
		for path, version := range required(t, folder) {
			if !sums[path+" "+version] {
				t.Errorf("%s/go.sum has no checksum of %s %s: run go mod tidy there", folder, path, version)
			}
		}
	}
}

// What both modules need has one version: what is tested together (go.work) is what either is built
// from alone.
func TestToolsHaveTheProgramsVersions(t *testing.T) {
	ours := required(t, "..")
	for path, version := range required(t, "../tools") {
		if want := ours[path]; want != "" && version != want {
			t.Errorf("tools/go.mod has %s %s, go.mod %s", path, version, want)
		}
	}
}

// required are the modules that the go.mod of a folder names, with their versions, but for our own.
func required(t *testing.T, folder string) map[string]string {
	t.Helper()
	b, err := exec.Command("go", "mod", "edit", "-json", folder+"/go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(b, &mod); err != nil || len(mod.Require) == 0 {
		t.Fatalf("%s/go.mod: %d modules, %v", folder, len(mod.Require), err)
	}
	all := map[string]string{}
	for _, r := range mod.Require {
		if r.Path+"/" != module {
			all[r.Path] = r.Version
		}
	}
	return all
}

// sumsOf lists the modules whose contents have a checksum, "path version".
func sumsOf(t *testing.T, file string) map[string]bool {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sums := map[string]bool{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) == 3 && !strings.HasSuffix(w[1], "/go.mod") {
			sums[w[0]+" "+w[1]] = true
		}
	}
	if len(sums) == 0 {
		t.Fatalf("%s: no checksums", file)
	}
	return sums
}
