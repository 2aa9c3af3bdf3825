// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/trust"
)

// stranger is a user who is not this one.
const stranger = 4711

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// put writes a file, with the folders above it.
func put(t *testing.T, text string, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	must(t, os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644))
	return p
}

// filled is a cache in which a kernel waits for its module to be built by the
// toolchain's make.
func filled(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "cache")
	c, err := openCache(dir)
	must(t, err)
	k := &kernel{Suite: "sid", Release: "7.2.13+deb14-amd64"}
	must(t, c.writeJSON(lockFile{Kernels: []*kernel{k}}, "lock.json"), c.writeJSON(map[string]bool{}, "accel.json"))
	put(t, "", dir, "lock")
	put(t, "image", dir, "kernels", k.Release, "vmlinuz")
	put(t, "", dir, "apt", "sid", "sources.list")
	put(t, "", dir, "selftests", k.Release, "ncdevmem")
	put(t, "", dir, "modules", k.Release+"-0123456789ab", "softnic.ko")
	put(t, "", dir, "toolchains", k.toolchain(), "usr", "bin", "make")
	return dir
}

func wantDistrust(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("it was trusted")
		return
	}
	text := err.Error()
	if fixed := interface{ Fix() string }(nil); errors.As(err, &fixed) {
		text += "; " + fixed.Fix()
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("error is %s, want one with %q", text, w)
		}
	}
}

// Nothing is read, booted or run that another user could have put there. Each of
// these is refused by building, before anything is fetched or run.
func TestBuildTrustsNobodyElse(t *testing.T) {
	needRoot(t)
	rel := "7.2.13+deb14-amd64"
	for name, spoil := range map[string]func(dir string) string{
		"the folder's owner":  func(dir string) string { return give(t, dir) },
		"the folder above":    func(dir string) string { return give(t, filepath.Dir(dir)) },
		"the folder is open":  func(dir string) string { return open(t, dir) },
		"lock.json's owner":   func(dir string) string { return give(t, dir, "lock.json") },
		"lock.json is open":   func(dir string) string { return open(t, dir, "lock.json") },
		"accel.json":          func(dir string) string { return give(t, dir, "accel.json") },
		"the kernel":          func(dir string) string { return give(t, dir, "kernels", rel, "vmlinuz") },
		"the kernel's folder": func(dir string) string { return open(t, dir, "kernels", rel) },
		"the module": func(dir string) string {
			return open(t, dir, "modules", rel+"-0123456789ab",
				"softnic.ko")
		},
		"apt's sources":         func(dir string) string { return give(t, dir, "apt", "sid", "sources.list") },
		"a selftest":            func(dir string) string { return give(t, dir, "selftests", rel, "ncdevmem") },
		"the toolchain's owner": func(dir string) string { return give(t, dir, "toolchains", "sid-"+rel) },
		"the toolchain is open": func(dir string) string { return open(t, dir, "toolchains", "sid-"+rel) },
		"a folder of it": func(dir string) string {
			return open(t, dir, "toolchains", "sid-"+rel, "usr",
				"bin")
		},
		"the toolchain's make": func(dir string) string {
			return give(t, dir, "toolchains", "sid-"+rel, "usr", "bin",
				"make")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			at := spoil(dir)
			_, err := Build(context.Background(), BuildOptions{Cache: dir}, io.Discard)
			wantDistrust(t, err, "trust the cache", at)
			if !trust.Untrusted(err) {
				t.Errorf("%v is not trust's", err)
			}
			if strings.Contains(err.Error(), "building") {
				t.Error("it went as far as building")
			}
		})
	}
}

func give(t *testing.T, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	must(t, os.Lchown(p, stranger, stranger))
	return p + " belongs to user 4711"
}

func open(t *testing.T, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	must(t, os.Chmod(p, 0o777))
	return p + " is writable by everybody"
}

func TestCacheWithLinks(t *testing.T) {
	dir := filled(t)
	other := t.TempDir()
	must(t, os.RemoveAll(filepath.Join(dir, "kernels")), os.Symlink(other, filepath.Join(dir, "kernels")))
	_, err := openCache(dir)
	wantDistrust(t, err, "kernels is a symbolic link")
}

// sudo without -H: root's HOME is the user's.
func TestRootLeavesAUsersHomeAlone(t *testing.T) {
	needRoot(t)
	home := t.TempDir()
	give(t, home)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	_, err := openCache("")
	wantDistrust(t, err, "sudo -H", "XDG_CACHE_HOME")
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("made %v in a user's home", left)
	}
}

// A cache of an earlier version: folders that all may read, apt's folders of its
// user, half an entry. Only the lock changes: nobody else may hold it.
func TestCacheOfAnEarlierVersion(t *testing.T) {
	needRoot(t)
	dir := filled(t)
	must(t, os.Remove(filepath.Join(dir, tagName)), os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "lock"), 0o644))
	for _, d := range []string{"archives/partial", "state/lists/partial", "state/lists/auxfiles"} {
		must(t, os.MkdirAll(filepath.Join(dir, "apt/sid", d), 0o700), os.Chown(filepath.Join(dir, "apt/sid", d), 42, 0))
	}
	must(t, os.MkdirAll(filepath.Join(dir, "kernels", tempPrefix+"123"), 0o777))
	must(t, os.Chmod(filepath.Join(dir, "kernels", tempPrefix+"123"), 0o777))
	tmp := filepath.Join(dir, "toolchains/sid-7.2.13+deb14-amd64/tmp")
	must(t, os.MkdirAll(tmp, 0o777), os.Chmod(tmp, 0o777|os.ModeSticky))
	c, err := openCache(dir)
	must(t, err)
	must(t, c.checkTree("toolchains", "sid-7.2.13+deb14-amd64"))
	unlock, err := c.lock(t.Context(), io.Discard)
	must(t, err)
	unlock()
	if st, err := os.Stat(filepath.Join(dir, "lock")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the lock: %v, %v", st.Mode(), err)
	}
	if !c.has(tagName) {
		t.Error("the folder did not get its tag")
	}
}

// --cache may name any folder, and --refresh removes kernels and modules.
func TestFoldersThatAreNoCache(t *testing.T) {
	for name, files := range map[string][]string{
		"a library":            {"modules/7.2.1+deb14-amd64/modules.dep", "x86_64-linux-gnu/libc.so"},
		"modules alone":        {"modules/7.2.1+deb14-amd64/modules.dep"},
		"another's cache":      {tagName, "kernels/7.2.1+deb14-amd64/vmlinuz"},
		"what looks like ours": {"lock", "lock.json", "kernels/x/vmlinuz", "thesis.tex"},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		for _, f := range files {
			put(t, "Signature: 8a477f597d28d172789f06886806bc55\n", dir, f)
		}
		_, err := Build(context.Background(), BuildOptions{Cache: dir, Refresh: true}, io.Discard)
		wantDistrust(t, err, "not made by the lab")
		for _, f := range files {
			if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Modes and owners can be mended by those who know who wrote there.
func TestRemedies(t *testing.T) {
	needRoot(t)
	dir := filled(t)
	open(t, dir, "kernels")
	_, err := openCache(dir)
	wantDistrust(t, err, "remove "+dir, "chmod -R go-w "+dir)
	must(t, os.Chmod(filepath.Join(dir, "kernels"), 0o755))
	if _, err := openCache(dir); err != nil {
		t.Errorf("mended: %v", err)
	}
	give(t, dir, "kernels")
	_, err = openCache(dir)
	wantDistrust(t, err, "sudo -H")
	if strings.Contains(err.Error(), "chown 0") {
		t.Errorf("root is told to take what may be planted: %v", err)
	}
}

func TestNewCacheIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c, err := openCache(dir)
	must(t, err)
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	must(t, os.WriteFile(c.path("notes"), nil, 0o600))
	if _, err := openCache(dir); err != nil {
		t.Errorf("again: %v", err)
	}
}

// The names in lock.json become paths, which --refresh removes.
func TestLockFileWithPaths(t *testing.T) {
	for _, k := range []kernel{
		{Suite: "sid", Release: "../../victim"}, {Suite: "../victim", Release: "7.2.1+deb14-amd64"},
		{Suite: "sid", Release: "7.2.1+deb14-amd64/../../../victim-amd64"},
	} {
		dir := filled(t)
		c, err := openCache(dir)
		must(t, err)
		must(t, c.writeJSON(lockFile{Kernels: []*kernel{&k}}, "lock.json"))
		if _, err := Build(context.Background(), BuildOptions{Cache: dir}, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "bad suite or release") {
			t.Errorf("%+v: error is %v", k, err)
		}
	}
}

// The folder's name is no pattern: a * in it does not reach other folders.
func TestCacheNamedLikeAPattern(t *testing.T) {
	base := t.TempDir()
	other := put(t, "", base, "cother", "kernels", tempPrefix+"1", "f")
	c, err := openCache(filepath.Join(base, "c*"))
	must(t, err)
	mine := put(t, "", base, "c*", "kernels", tempPrefix+"named-so-by-a-user", "f")
	must(t, c.folder(func(string) error { return nil }, "kernels", "k"))
	for _, p := range []string{other, mine} {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
}
