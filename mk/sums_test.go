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
	for _, folder := range []string{"..", "tools"} {
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
		sums := sumsOf(t, folder+"/go.sum")
		for _, r := range mod.Require {
			if key := r.Path + " " + r.Version; !sums[key] {
				t.Errorf("%s/go.sum has no checksum of %s: run go mod tidy there", folder, key)
			}
		}
	}
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
