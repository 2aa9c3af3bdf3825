// SPDX-License-Identifier: MIT

package lab

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The card's NICs can be connected to, each once, by whoever can enter its folder; of which nothing
// is left, whether QEMU came or not.
func TestOwnCard(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	c, err := newOwnCard("", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(c.dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	args := strings.Join(c.args(512), " ")
	for i := range 2 {
		if !strings.Contains(args, `"path":"`+c.socket(i)+`"`) {
			t.Errorf("NIC %d is not in %s", i, args)
		}
	}
	conn, err := net.Dial("unix", c.socket(1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c.close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("NIC 1 goes on")
	}
	if left, err := os.ReadDir(filepath.Dir(c.dir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The QEMU of the cache runs with the libraries and the firmware of its own folder.
func TestEmulatorCommand(t *testing.T) {
	var none *emulator
	if got := none.command(); !slices.Equal(got, []string{"qemu-system-x86_64"}) {
		t.Errorf("%q", got)
	}
	root := t.TempDir()
	e := &emulator{root}
	for _, arg := range e.command() {
		if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, root+"/usr/") {
			t.Errorf("%q is not in its folder", arg)
		}
	}
	if got := e.qboot(); got != "" {
		t.Errorf("firmware %q", got)
	}
	rom := filepath.Join(root, "usr/share/qemu/qboot.rom")
	if err := os.MkdirAll(filepath.Dir(rom), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rom, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := e.qboot(); got != rom {
		t.Errorf("firmware %q", got)
	}
}
