// SPDX-License-Identifier: MIT

package trust

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// stranger is a user who is not this one.
const stranger = 4711

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
}

func mkdir(t *testing.T, mode os.FileMode, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	if err := os.MkdirAll(p, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func chown(t *testing.T, path string, uid, gid int) {
	t.Helper()
	if err := os.Lchown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, mode os.FileMode, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	if err := os.WriteFile(p, []byte("x"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func wantErr(t *testing.T, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("error is %v, want one with %q", err, word)
	} else if word != "no such file" && !Untrusted(err) {
		t.Errorf("%v is no *Error", err)
	}
}

func TestDir(t *testing.T) {
	base := t.TempDir()
	if err := Dir(mkdir(t, 0o700, base, "mine")); err != nil {
		t.Errorf("a folder of one's own: %v", err)
	}
	if err := Dir(mkdir(t, 0o777|os.ModeSticky, base, "shared")); err == nil {
		t.Error("a sticky folder that everybody writes was taken for one's own")
	}
	if err := Dir(mkdir(t, 0o700, base, "shared", "mine")); err != nil {
		t.Errorf("one's own below a sticky folder: %v", err)
	}
	mkdir(t, 0o777, base, "open")
	wantErr(t, Dir(mkdir(t, 0o700, base, "open", "mine")), "writable by everybody")
	wantErr(t, Dir(filepath.Join(base, "none")), "no such file")
	wantErr(t, Dir(write(t, 0o600, base, "file")), "not a folder")
}

func TestDirOfStrangers(t *testing.T) {
	needRoot(t)
	base := t.TempDir()
	theirs := mkdir(t, 0o755, base, "theirs")
	chown(t, theirs, stranger, stranger)
	wantErr(t, Dir(theirs), "belongs to user 4711")
	wantErr(t, Dir(mkdir(t, 0o700, theirs, "mine")), "belongs to user 4711")
	group := mkdir(t, 0o770, base, "group")
	chown(t, group, 0, stranger)
	wantErr(t, Dir(group), "writable by group 4711")
	if chown(t, group, 0, 0); Dir(group) != nil {
		t.Error("root's own group counts as somebody else")
	}
}

// What the mode says of the group is of the whole access list, where there is one.
func TestAccessList(t *testing.T) {
	needRoot(t)
	dir := mkdir(t, 0o770, t.TempDir(), "d")
	chown(t, dir, 0, 0)
	if err := Dir(dir); err != nil {
		t.Fatal(err)
	}
	list := binary.LittleEndian.AppendUint32(nil, 2) // linux/posix_acl_xattr.h
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 7, 1<<32 - 1}, {2, 7, stranger}, {4, 0, 1<<32 - 1}, {16, 7, 1<<32 - 1}, {32, 0, 1<<32 - 1}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	if err := unix.Setxattr(dir, "system.posix_acl_access", list, 0); err != nil {
		t.Skipf("no access lists here: %v", err)
	}
	wantErr(t, Dir(dir), "access list")
	wantErr(t, Dir(mkdir(t, 0o700, dir, "mine")), "access list")
}

func TestLinks(t *testing.T) {
	base := t.TempDir()
	mine := mkdir(t, 0o700, base, "mine")
	link := func(target, name string) string {
		p := filepath.Join(base, name)
		if err := os.Symlink(target, p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, p := range []string{link("mine", "relative"), link(mine, "absolute"), link("./mine", "dot")} {
		if err := Dir(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	mkdir(t, 0o777, base, "open")
	mkdir(t, 0o700, base, "open", "sub")
	wantErr(t, Dir(link("open/sub", "into")), "writable by everybody")
	wantErr(t, Dir(link("into/../../mine", "back")), "writable by everybody") // .. of where the link leads
	if err := Dir(link("relative/../mine", "up")); err != nil {
		t.Errorf("up and down again: %v", err)
	}
	link("loop", "loop")
	if err := Dir(filepath.Join(base, "loop")); err == nil {
		t.Error("a loop of links has an end")
	}
	if os.Geteuid() != 0 {
		return
	}
	mkdir(t, 0o777|os.ModeSticky, base, "sticky")
	foreign := link(mine, "sticky/foreign")
	chown(t, foreign, stranger, stranger)
	wantErr(t, Dir(foreign), "belongs to user 4711")
}

func TestOpen(t *testing.T) {
	base := mkdir(t, 0o700, t.TempDir(), "d")
	f, err := Open(write(t, 0o600, base, "good"), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	open := func(p string) error {
		f, err := Open(p, os.O_RDONLY)
		if err == nil {
			f.Close()
		}
		return err
	}
	wantErr(t, open(write(t, 0o666, base, "all")), "writable by everybody")
	if err := os.Symlink("good", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := open(filepath.Join(base, "link")); err == nil {
		t.Error("a link was opened")
	}
	if err := unix.Mkfifo(filepath.Join(base, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantErr(t, open(filepath.Join(base, "fifo")), "not a regular file")
	if f, err := Open(filepath.Join(base, "good"), os.O_RDONLY); err != nil {
		t.Error(err)
	} else if b, err := io.ReadAll(f); err != nil || f.Close() != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
	mkdir(t, 0o777, base, "open")
	wantErr(t, open(write(t, 0o600, base, "open", "good")), "writable by everybody") // another may take its name
	mkdir(t, 0o777|os.ModeSticky, base, "sticky")
	if err := open(write(t, 0o600, base, "sticky", "good")); err != nil {
		t.Errorf("one's own in a sticky folder: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	theirs := write(t, 0o600, base, "theirs")
	chown(t, theirs, stranger, stranger)
	wantErr(t, open(theirs), "belongs to user 4711")
}

func TestMkdirAll(t *testing.T) {
	p := filepath.Join(t.TempDir(), "a", "b")
	if err := MkdirAll(p, 0o777); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(p)
	if err != nil || st.Mode().Perm()&0o022 != 0 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// In a user namespace the machine's root is nobody.
func TestUserNamespace(t *testing.T) {
	if os.Getenv("ZCBENCH_TRUST_DIR") != "" {
		if err := Dir(os.Getenv("ZCBENCH_TRUST_DIR")); err != nil {
			t.Fatal(err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("unshare", "-r", "true").Run(); err != nil {
		t.Skipf("user namespaces cannot be had here: unshare -r: %v", err)
	}
	cmd := exec.Command("unshare", "-r", self, "-test.run", "^TestUserNamespace$")
	cmd.Env = append(os.Environ(), "ZCBENCH_TRUST_DIR="+mkdir(t, 0o700, t.TempDir(), "mine"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
