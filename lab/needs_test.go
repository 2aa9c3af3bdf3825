// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakePath makes a PATH that has the programs alone; each logs how it was called.
func fakePath(t *testing.T, script string, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

// All that is missing is said at once, with the command that brings it.
func TestNeedsSaysAll(t *testing.T) {
	fakePath(t, "exit 0\n", "apt-get", "apt-cache", "apt-config", "unshare", "chroot")
	t.Setenv(mirrorEnv, "no url")
	w := work{fetch: true, compile: true, space: 1 << 62}
	err := w.check(t.Context(), t.TempDir()).err()
	if err == nil {
		t.Fatal("nothing is missing")
	}
	for _, want := range []string{"qemu-system-x86", "dpkg", "mount", mirrorEnv, "MB of disk space are needed",
		"apt-get install --no-install-recommends qemu-system-x86 dpkg"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %s\n%v", want, err)
		}
	}
	for _, not := range []string{"util-linux", "coreutils", "missing packages: apt"} {
		if strings.Contains(err.Error(), not) {
			t.Errorf("said although it is there: %s\n%v", not, err)
		}
	}
}

// What is in the cache needs no apt, but a machine.
func TestNeedsOfFullCache(t *testing.T) {
	fakePath(t, "exit 0\n")
	if n := (work{}).check(t.Context(), "/"); !slices.Equal(n.packages, []string{"qemu-system-x86"}) ||
		len(n.others) > 0 {
		t.Errorf("%+v", n)
	}
	fakePath(t, "exit 0\n", "qemu-system-x86_64")
	if err := (work{}).check(t.Context(), "/").err(); err != nil {
		t.Error(err)
	}
}

// Whoever may not make namespaces is told before anything is fetched, root in a container too.
func TestNeedsNamespaces(t *testing.T) {
	fakePath(t, "echo unshare: no >&2; exit 1\n", "qemu-system-x86_64", "unshare", "mount", "chroot")
	want := "user namespaces do not work here (unshare: no)"
	if os.Geteuid() == 0 {
		want = "root may not make mount and PID namespaces here (unshare: no): a container needs CAP_SYS_ADMIN"
	}
	if err := (work{compile: true}).check(t.Context(), "/").err(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Root without CAP_SYS_ADMIN, as in a container.
func TestRootWithoutNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be root without its capabilities")
	}
	if err := canEnter(t.Context()); err != nil {
		t.Skipf("this root has none itself: %v", err)
	}
	if os.Getenv("ZCBENCH_BARE_ROOT") != "" {
		t.Fatal("setpriv left root its capabilities")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), "setpriv", "--bounding-set", "-sys_admin", os.Args[0], "-test.run",
		"^TestRootWithoutNamespaces$", "-test.v")
	cmd.Env = append(os.Environ(), "ZCBENCH_BARE_ROOT=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "root may not make mount and PID namespaces here (unshare: ") {
		t.Errorf("%v: %s", err, out)
	}
}

// An empty cache needs all before the first byte is fetched.
func TestBuildChecksFirst(t *testing.T) {
	fakePath(t, "exit 0\n", "apt-get", "apt-cache", "apt-config", "dpkg-deb", "unshare", "mount", "chroot")
	t.Setenv(mirrorEnv, "http://127.0.0.1:1/debian")
	cache := filepath.Join(t.TempDir(), "lab")
	var log bytes.Buffer
	_, err := Build(t.Context(), BuildOptions{Cache: cache}, &log)
	if err == nil || !strings.Contains(err.Error(), "qemu-system-x86") {
		t.Errorf("built without QEMU: %v", err)
	}
	if _, err := os.Stat(filepath.Join(cache, "apt")); err == nil || log.Len() > 0 {
		t.Errorf("began before it knew: %q", &log)
	}
}

func TestWorkFor(t *testing.T) {
	c := &cache{dir: t.TempDir()}
	k := &kernel{Suite: "sid", Release: "7.2.1-amd64"}
	lf := &lockFile{Kernels: []*kernel{k}}
	for _, x := range []struct {
		has  string // made before
		want work
	}{
		{"", work{true, true, kernelSpace + toolchainSpace}},
		{"kernels/" + k.Release, work{true, true, toolchainSpace}},
		{"toolchains/" + k.toolchain(), work{false, true, 0}},
		{"modules/" + moduleKey(k.Release), work{}},
	} {
		if err := os.MkdirAll(c.path(x.has), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := c.workFor([]string{"sid"}, lf, false); got != x.want {
			t.Errorf("with %s: %+v, want %+v", x.has, got, x.want)
		}
	}
	if got := c.workFor([]string{"sid"}, lf, true); !got.fetch {
		t.Errorf("a refresh: %+v", got)
	}
}

// --install calls apt with the programs first in PATH that start no service.
func TestNeedsInstall(t *testing.T) {
	n := needs{packages: []string{"qemu-system-x86"}}
	if os.Geteuid() != 0 {
		if err := n.install(t.Context(), os.Stderr); err == nil || !strings.Contains(err.Error(), "needs root") {
			t.Errorf("installed without root: %v", err)
		}
		return
	}
	said := filepath.Join(t.TempDir(), "said")
	t.Setenv("SAID", said)
	fakePath(t, `echo "$*" >>"$SAID"; for p in invoke-rc.d deb-systemd-invoke deb-systemd-helper; do
command -v $p >>"$SAID"; done; case "$*" in *update*) >"$SAID-updated";; *) [ -e "$SAID-updated" ] || exit 100;; esac
`, "apt-get")
	var log bytes.Buffer
	if err := n.install(t.Context(), &log); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(calls) != 3*4 || !strings.Contains(calls[0], " install ") || !strings.Contains(calls[4], " update ") ||
		!strings.Contains(calls[8], " install ") {
		t.Fatalf("called\n%s", b)
	}
	for i := range 3 {
		first, _, _ := strings.Cut(strings.TrimPrefix(calls[4*i], "-o DPkg::Path="), ":")
		for _, p := range calls[4*i+1 : 4*i+4] {
			if filepath.Dir(p) != first {
				t.Errorf("%s is not in %s, which dpkg has first", p, first)
			}
		}
		if _, err := os.Stat(first); err == nil {
			t.Errorf("%s is left", first)
		}
	}
}
