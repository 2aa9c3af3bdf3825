// SPDX-License-Identifier: MIT

// Package mk has the tests of the scripts that the Makefile runs.
package mk

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// stranger is a user who is not this one.
const stranger = 4711

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: installs packages, gives files to another user")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, mode os.FileMode, text string, elem ...string) string {
	t.Helper()
	p := filepath.Join(elem...)
	must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(t, os.WriteFile(p, []byte(text), 0o600))
	must(t, os.Chmod(p, mode))
	return p
}

// fakeApt does what apt, dpkg and a package with a service do: it sets the PATH by
// the option and calls what starts services by name. Then it hangs.
const fakeApt = `#!/bin/sh
case "$2" in DPkg::Path=*) PATH=${2#DPkg::Path=} ;; esac
{
	invoke-rc.d zcbench-fake start; echo "invoke-rc.d: $?"
	deb-systemd-invoke start zcbench-fake.service; echo "deb-systemd-invoke: $?"
	deb-systemd-helper --quiet was-enabled zcbench-fake.service; echo "was-enabled: $?"
	command -v invoke-rc.d
} >"$OUT/said" 2>&1
ls /usr/sbin >"$OUT/during"
mv "$OUT/said" "$OUT/reached"
exec sleep 600
`

// killed runs apt.sh on a host without a policy-rc.d until it installs, and kills it.
// The namespace's /usr/sbin is the test's own.
const killed = `set -eu
mount -t tmpfs tmpfs /usr/sbin || { echo no-mounts; exit 0; }
setsid mk/apt.sh zcbench-fake:/nonexistent >"$OUT/log" 2>&1 &
i=0
until [ -e "$OUT/reached" ]; do i=$((i+1)); [ $i -lt 200 ]; sleep 0.05; done
kill -"$SIGNAL" -$!
wait || true
ls /usr/sbin
`

// However installing ends, the host's policy for services is the one it was, and no
// service was started or will be.
func TestKilledAptLeavesNothing(t *testing.T) {
	needRoot(t)
	for _, signal := range []string{"KILL", "TERM", "HUP"} {
		out := t.TempDir()
		write(t, 0o755, fakeApt, out, "bin", "apt-get")
		cmd := exec.Command("env", "--default-signal=HUP,TERM", // below nohup HUP is ignored, by all
			"unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", killed)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "OUT="+out, "SIGNAL="+signal, "TMPDIR="+out, "PATH="+out+"/bin:"+
			os.Getenv("PATH"))
		left, err := cmd.CombinedOutput()
		if strings.Contains(string(left), "no-mounts") {
			t.Skip("no mounts here")
		}
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(out, "log"))
			t.Fatalf("%v: %s%s", err, left, log)
		}
		if len(left) > 0 {
			t.Errorf("SIG%s leaves in /usr/sbin: %s", signal, left)
		}
		if during, err := os.ReadFile(filepath.Join(out, "during")); err != nil || len(during) > 0 {
			t.Errorf("while it installs there is in /usr/sbin: %s (%v)", during, err)
		}
		checkSaid(t, filepath.Join(out, "reached"))
	}
}

func checkSaid(t *testing.T, path string) {
	t.Helper()
	said, err := os.ReadFile(path)
	must(t, err)
	shim, err := filepath.Abs("no-services/invoke-rc.d")
	must(t, err)
	if want := "invoke-rc.d: 0\ndeb-systemd-invoke: 0\nwas-enabled: 1\n" + shim + "\n"; string(said) != want {
		t.Errorf("a package's scripts see\n%swant\n%s", said, want)
	}
}

// What the Makefile runs from the user's cache is nobody else's to write.
func TestTrusted(t *testing.T) {
	needRoot(t)
	for _, tc := range []struct {
		name  string
		spoil func(dir string) error
		want  string // empty: trusted
	}{
		{"one's own", func(string) error { return nil }, ""},
		{"not there yet", func(dir string) error { return os.RemoveAll(dir + "/home/cache") }, ""},
		{"below a tmp", func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, ""},
		{"an open folder above", func(dir string) error { return os.Chmod(dir+"/home", 0o777) },
			"home is writable by everybody: nothing there is run; chmod o-w '"},
		{"a group's folder", func(dir string) error {
			return firstOf(os.Chown(dir+"/home", 0, stranger), os.Chmod(dir+"/home", 0o775))
		}, "home is writable by its group: nothing there is run; chmod g-w '"},
		{"a stranger's home", func(dir string) error { return os.Chown(dir+"/home", stranger, 0) },
			"home belongs to user 4711"},
		{"a stranger's home, empty", func(dir string) error {
			return firstOf(os.RemoveAll(dir+"/home/cache"), os.Chown(dir+"/home", stranger, 0))
		}, "home belongs to user 4711"},
		{"a stranger's link", func(dir string) error {
			return firstOf(os.Rename(dir+"/home", dir+"/real"), os.Symlink("real", dir+"/home"),
				os.Lchown(dir+"/home", stranger, 0))
		}, "home belongs to user 4711"},
		{"a link of one's own", func(dir string) error {
			return firstOf(os.Rename(dir+"/home", dir+"/real"), os.Symlink(dir+"/real", dir+"/home"))
		}, ""},
		{"a link to what is open", func(dir string) error {
			return firstOf(os.Rename(dir+"/home", dir+"/real"), os.Symlink("real", dir+"/home"),
				os.Chmod(dir+"/real", 0o777))
		}, "real is writable by everybody"},
		{"a stranger's program", func(dir string) error { return os.Chown(dir+"/home/cache/tools/x", stranger, 0) },
			"tools/x belongs to another"},
		{"an open program", func(dir string) error { return os.Chmod(dir+"/home/cache/tools/x", 0o777) },
			"tools/x belongs to another"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, 0o755, "", dir, "home", "cache", "tools", "x")
			must(t, tc.spoil(dir))
			said, err := exec.Command("./trusted.sh", dir+"/home/cache/tools").CombinedOutput()
			switch {
			case tc.want == "" && (err != nil || len(said) > 0):
				t.Errorf("%v: %s", err, said)
			case tc.want != "" && (err == nil || !strings.Contains(string(said), tc.want)):
				t.Errorf("%v: %s, want %q", err, said, tc.want)
			}
		})
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// make runs nothing from a cache that another user can write.
func TestMakeRunsNothingOfOthers(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	mark := filepath.Join(dir, "ran")
	versions, err := os.ReadFile("tools/go.mod")
	must(t, err)
	for name, module := range map[string]string{
		"golangci-lint": "github.com/golangci/golangci-lint/v2", "govulncheck": "golang.org/x/vuln",
		"nfpm": "github.com/goreleaser/nfpm/v2",
	} {
		version := regexp.MustCompile(`(?m)^\s` + regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(versions)
		if version == nil {
			t.Fatalf("tools/go.mod has no %s", module)
		}
		write(t, 0o755, "#!/bin/sh\ntouch "+mark+"\n", dir, "zcbench", "tools", name+"-"+string(version[1]))
	}
	for _, target := range []string{"lint", "vuln", "package"} {
		cmd := exec.Command("make", "-C", "..", target, "GO=true", "XDG_CACHE_HOME="+dir, "CACHE="+dir+"/zcbench")
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), "writable by everybody") {
			t.Errorf("%s: %v: %s", target, err, said)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}
