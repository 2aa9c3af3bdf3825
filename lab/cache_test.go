// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func testCache(t *testing.T) *cache {
	t.Helper()
	c, err := openCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A fill that fails leaves nothing that a later run could take for whole, and
// what an interrupted run left is swept away.
func TestFolderIsAllOrNothing(t *testing.T) {
	c := testCache(t)
	boom := errors.New("boom")
	err := c.folder(func(tmp string) error {
		if err := os.WriteFile(filepath.Join(tmp, "half"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return boom
	}, "kernels", "k")
	if !errors.Is(err, boom) || c.has("kernels", "k") {
		t.Fatalf("err %v, entry there: %v", err, c.has("kernels", "k"))
	}
	left := c.path("kernels", tempPrefix+"4711")
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	err = c.folder(func(tmp string) error {
		return os.WriteFile(filepath.Join(tmp, "whole"), nil, 0o644)
	}, "kernels", "k")
	if err != nil || !c.has("kernels", "k", "whole") {
		t.Fatalf("err %v, entry there: %v", err, c.has("kernels", "k", "whole"))
	}
	all, _ := os.ReadDir(c.path("kernels"))
	if len(all) != 1 {
		t.Errorf("left in the folder: %v", all)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	c := testCache(t)
	var got map[string]bool
	if err := c.readJSON(&got, "accel.json"); err != nil || got != nil {
		t.Errorf("a missing file: %v, %v", got, err)
	}
	if err := c.writeJSON(map[string]bool{"a": true}, "accel.json"); err != nil {
		t.Fatal(err)
	}
	if err := c.readJSON(&got, "accel.json"); err != nil || !got["a"] {
		t.Errorf("got %v, %v", got, err)
	}
	if err := os.WriteFile(c.path("accel.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.readJSON(&got, "accel.json"); err == nil {
		t.Error("half a file was accepted")
	}
}

func TestPruneKeepsWhatIsLocked(t *testing.T) {
	c := testCache(t)
	k := &kernel{Suite: "sid", Release: "7.2.13+deb14-amd64"}
	keep := [][]string{{"kernels", k.Release}, {"toolchains", k.toolchain()}, {"modules", moduleKey(k.Release)}}
	// Not of the lab: another program's, or the system's below --cache /usr/lib.
	keep = append(keep, []string{"modules", "7.2.1+deb14-amd64"}, []string{"kernels", "mine"},
		[]string{"drivers", "7.2.1"}, []string{"toolchains", emulatorEntry("sid")})
	gone := [][]string{{"kernels", "7.2.1+deb14-amd64"}, {"toolchains", "sid-7.2.1+deb14-amd64"},
		{"modules", k.Release + "-0123456789ab"}}
	for _, e := range append(keep, gone...) {
		if err := os.MkdirAll(c.path(e...), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.prune(&lockFile{Kernels: []*kernel{k}})
	for _, e := range keep {
		if !c.has(e...) {
			t.Errorf("%v is gone", e)
		}
	}
	for _, e := range gone {
		if c.has(e...) {
			t.Errorf("%v is still there", e)
		}
	}
}
