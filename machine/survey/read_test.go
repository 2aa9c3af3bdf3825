// SPDX-License-Identifier: MIT

package survey

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A file is read up to a limit and not beyond, an empty one is no missing one, and nothing waits
// for what may never come.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	long := bytes.Repeat([]byte("0123456789abcdef"), mostText/8) // two pieces
	for name, b := range map[string][]byte{"long": long, "empty": {}, "short": []byte("1\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		most int
		want []byte
	}{
		{"long", mostTable, long},
		{"long", len(long), long},
		{"long", mostText + 1, long[:mostText+1]},
		{"long", 5, long[:5]},
		{"short", mostText, []byte("1\n")},
		{"empty", mostText, []byte{}},
		{"fifo", mostText, []byte{}}, // without a writer it is at its end
		{"missing", mostText, nil},
		{".", mostText, nil},
	} {
		if got := read(filepath.Join(dir, x.name), x.most); !bytes.Equal(got, x.want) ||
			(got == nil) != (x.want == nil) {
			t.Errorf("%s, %d bytes at most: %d, missing %v; want %d, missing %v", x.name, x.most, len(got), got == nil,
				len(x.want), x.want == nil)
		}
	}
}

// However many sysctls there are, so many are read, of all folders together.
func TestSysctlsAreBounded(t *testing.T) {
	proc := t.TempDir()
	for i := range 3 {
		dir := filepath.Join(proc, "sys/net", strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("1\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for most, want := range map[int]int{0: 0, 3: 3, 6: 6, 7: 6} {
		f := &facts{fs: FS{Proc: proc}}
		f.sysctlsIn("net", Devs{}, &most)
		if len(f.all) != want {
			t.Errorf("%d facts, want %d: %v", len(f.all), want, f.all)
		}
	}
}
