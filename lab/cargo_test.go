// SPDX-License-Identifier: MIT

package lab

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCargo(t *testing.T) {
	dir := t.TempDir()
	mk := func(name, text string, mode os.FileMode) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	prog := mk("bin/prog", "program", 0o755)
	mk("src/testdata/a/f", "data", 0o640)
	mk("src/testdata/empty/x", "", 0o644)
	file := mk("other/file", "more", 0o644)
	if err := os.Symlink(file, filepath.Join(dir, "src/testdata/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/no/such", filepath.Join(dir, "src/testdata/dangling")); err != nil {
		t.Fatal(err)
	}
	cmd := &command{carry: prog, returns: []string{filepath.Join(dir, "cover/c.out"), filepath.Join(dir, "bin")}}
	c, err := loadCargo(cmd, filepath.Join(dir, "src"), []string{file, file, "/no/such"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var b bytes.Buffer
	if err := c.write(&b); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for tr := tar.NewReader(&b); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(tr)
		name, err := filepath.Rel(dir, "/"+h.Name)
		if _, twice := got[name]; err != nil || twice {
			t.Errorf("%s, %v; twice: %v", h.Name, err, twice)
		}
		got[name] = os.FileMode(h.Mode).String() + " " + string(text)
	}
	want := map[string]string{
		"bin/prog": "-rwxr-xr-x program", "cover": "-rwxr-xr-x ", "bin": "-rwxr-xr-x ",
		"src/testdata": "-rwxr-xr-x ", "src/testdata/a": "-rwxr-xr-x ", "src/testdata/a/f": "-rw-r----- data",
		"src/testdata/empty": "-rwxr-xr-x ", "src/testdata/empty/x": "-rw-r--r-- ",
		"src/testdata/link": "-rw-r--r-- more", "other/file": "-rw-r--r-- more",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
