// SPDX-License-Identifier: MIT

package lab

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func archive(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for name, text := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o640,
			Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestReceiveTar(t *testing.T) {
	dir := t.TempDir()
	out, cover := filepath.Join(dir, "o"), filepath.Join(dir, "c.out")
	b := archive(t, map[string]string{"out/a/b": "one", cover[1:]: "two"})
	if err := receiveTar(b, out, []string{cover}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(out, "a/b"): "one", cover: "two"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// Who may read what comes back is the umask's to say, not the guest's.
func TestReceiveTarUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	out := filepath.Join(t.TempDir(), "o")
	if err := receiveTar(archive(t, map[string]string{"out/a/b": "one"}), out, nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{out: 0o700, filepath.Join(out, "a"): 0o700,
		filepath.Join(out, "a/b"): 0o600} {
		if i, err := os.Stat(path); err != nil || i.Mode().Perm() != want {
			t.Errorf("%s: %v, want %v; %v", path, i.Mode().Perm(), want, err)
		}
	}
}

// Whatever runs in the guest decides about names: they must not lead out of
// the folders that were agreed on.
func TestReceiveTarRefusesStrangers(t *testing.T) {
	for _, name := range []string{"etc/passwd", "out/../etc/passwd", "outside", "../out2/x", "tmp/coverX"} {
		dir := t.TempDir()
		err := receiveTar(archive(t, map[string]string{name: "x"}), filepath.Join(dir, "o"), []string{"/tmp/cover"})
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestReceiveTarCutOff(t *testing.T) {
	dir := t.TempDir()
	b := archive(t, map[string]string{"out/a": string(make([]byte, 10_000))})
	b.Truncate(5000)
	if err := receiveTar(b, dir, nil); err == nil {
		t.Error("half an archive was accepted")
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("half a file was left")
	}
}

func TestTail(t *testing.T) {
	w := newTail(100)
	for range 50 {
		w.Write([]byte("0123456789\r\n"))
	}
	w.Write([]byte("last\r\n"))
	if got := string(w.lines(2)); got != "0123456789\nlast" {
		t.Errorf("got %q", got)
	}
}
