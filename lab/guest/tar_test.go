// SPDX-License-Identifier: MIT

package guest

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSendTar(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/f"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "a/link")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := sendTar(&b, []string{filepath.Join(dir, "a"), filepath.Join(dir, "missing")}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	tr := tar.NewReader(&b)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			text, _ := io.ReadAll(tr)
			got[h.Name] = string(text)
		}
	}
	want := strings.TrimPrefix(filepath.Join(dir, "a/b/f"), "/")
	if len(got) != 1 || got[want] != "text" {
		t.Errorf("got %v, want only %s", got, want)
	}
}
