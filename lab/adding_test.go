// SPDX-License-Identifier: MIT

package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// One word in Suites adds a kernel: it can be chosen, alone and by "all", is among the choices of
// errors, and apt looks for it in that suite; its folders in the cache are tidied as others are.
func TestOneLineAddsAKernel(t *testing.T) {
	const suite = "forky"
	lf := &lockFile{}
	if _, err := pick([]string{suite}, lf); err == nil {
		t.Fatal("there is one of this name")
	}
	before := Suites
	defer func() { Suites = before }()
	Suites = append(before[:len(before):len(before)], suite)

	if got, err := pick([]string{suite}, lf); err != nil || !cmp.Equal(got, []string{suite}) {
		t.Errorf("chosen alone: %v, %v", got, err)
	}
	if got, err := pick([]string{"all"}, lf); err != nil || len(got) != len(Suites) {
		t.Errorf("all: %v, %v", got, err)
	}
	if _, err := pick([]string{"6.1"}, lf); err == nil || !strings.Contains(err.Error(), suite) {
		t.Errorf("an unknown kernel: %v", err)
	}
	c := &cache{dir: t.TempDir()}
	a := &apt{suite: suite, dir: c.path("apt", suite)}
	if err := a.layOut(mirror{}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(a.dir, "sources.list"))
	if err != nil || !strings.Contains(string(b), " "+suite+" ") {
		t.Errorf("apt's sources: %q, %v", b, err)
	}
	k := &kernel{Suite: suite, Release: "7.2.13+deb14-amd64"}
	for _, e := range entries() {
		if !e.names.MatchString(e.name(k)) {
			t.Errorf("%s is not known for a folder of %s", e.name(k), e.dir)
		}
	}
}
