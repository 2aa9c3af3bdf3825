// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/internal/trust"
)

// minimalRoot is a fresh minimal Debian 12 in a folder. It is fetched once, and kept in the user's
// cache: afterwards the test works offline.
func minimalRoot(t *testing.T) string {
	t.Helper()
	need(t, "mmdebstrap", "unshare", "chroot", "tar")
	cache, err := os.UserCacheDir()
	must(t, err)
	dir := filepath.Join(cache, "zcbench", "roots")
	must(t, trust.MkdirAll(dir, 0o755))
	image := filepath.Join(dir, "bookworm-"+runtime.GOARCH+".tar")
	if _, err := os.Stat(image); err != nil {
		part := image + ".part"
		args := []string{"--variant=minbase", "--include=man-db", "bookworm", part, "--format=tar"}
		if mirror := os.Getenv("ZCBENCH_DEBIAN_MIRROR"); mirror != "" {
			args = append(args, mirror)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		if said, err := exec.CommandContext(ctx, "mmdebstrap", args...).CombinedOutput(); err != nil {
			os.Remove(part)
			t.Skipf("no Debian 12 can be fetched here: %v: %s", err, lastLines(string(said)))
		}
		must(t, os.Rename(part, image))
	}
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	command(t, "tar", "--numeric-owner", "-xpf", image, "-C", root)
	return root
}

func lastLines(s string) string {
	if len(s) > 500 {
		s = s[len(s)-500:]
	}
	return strings.TrimSpace(s)
}

// inside runs a line of sh in the root, with namespaces of its own: what it mounts, starts and
// sets up ends with it. One that takes the limit, and await.Hang at the least, is killed.
func inside(t *testing.T, root string, limit time.Duration, line string) (string, error) {
	t.Helper()
	const setup = `set -e
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=0755 tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
[ -z "$3" ] || { : >"$1$4"; mount --bind "$3" "$1$4"; }
exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive /bin/sh -ec "$2"`
	file, at := "", ""
	for _, format := range []string{"deb", "tar.gz"} {
		if name := "/tmp/zcbench." + format; strings.Contains(line, name) {
			file, at = made1(t, runtime.GOARCH, format), name
		}
	}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "--net", "--pid", "--fork", "--kill-child",
		"sh", "-c", setup, "sh", root, line, file, at)
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	hangs := await.Later(max(limit, await.Hang), func() { cmd.Process.Kill() })
	defer hangs.Stop()
	err := cmd.Wait()
	return out.String(), err
}

// whatIsThere has every file of a root, with what tells whether it changed.
func whatIsThere(t *testing.T, root string) map[string]string {
	t.Helper()
	there := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		what := st.Mode().String()
		switch {
		case st.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %x", sha256.Sum256(b))
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			what += " " + to
		}
		there[strings.TrimPrefix(path, root)] = what
		return nil
	}))
	return there
}

// diaries are what apt, dpkg and man-db write down of what they did.
var diaries = regexp.MustCompile(
	`^/var/(lib/dpkg/|log/|lib/apt/|cache/apt/|cache/man/)|^/etc/ld\.so\.cache$|^/var/cache/(man|ldconfig)(/|$)`)

// A package is installed by apt into a minimal Debian 12 without network, does there what it is
// for, and leaves nothing when it is purged.
func TestIntegrationMinimalRoot(t *testing.T) {
	long.Test(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a root and namespaces")
	}
	root := minimalRoot(t)
	before := whatIsThere(t, root)
	do := func(limit time.Duration, line string, wants ...string) {
		t.Helper()
		said, err := inside(t, root, limit, line)
		t.Logf("# %s\n%s", line, said)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(said) {
				t.Errorf("%s: lacks %s", line, want)
			}
		}
	}
	do(time.Minute, "cd /run; tar -xzf /tmp/zcbench.tar.gz; cd zcbench-*; ./zcbench version; ./zcbench doctor; "+
		"./zcbench matrix --dry-run experiments/quick.yaml; cd agents; sha256sum --check --ignore-missing SHA256SUMS",
		`(?m)^zcbench 0\.`, `(?m)^host local, zcbench 0\.`, `runs`, `linux-(arm64|amd64)/zcbench: OK`)
	do(2*time.Minute, "apt-get install -y /tmp/zcbench.deb")
	do(time.Minute, "dpkg --verify zcbench; zcbench version; zcrecv --version; zcsend --version; "+
		"/usr/lib/zcbench/zcnvml --list || [ $? = 1 ]; /usr/lib/zcbench/zcgpu || [ $? = 2 ]",
		`(?m)^zcbench 0\.`, `io_uring engine +native`, `giouring`, `libnvidia-ml`)
	do(time.Minute, "cd /usr/lib/zcbench/agents && sha256sum --check --ignore-missing --strict SHA256SUMS",
		`linux-(arm64|amd64)/zcbench: OK`)
	do(time.Minute, "zcbench doctor", `(?m)^host local, zcbench 0\.`, `tcp `)
	do(time.Minute, "man zcbench-matrix | cat; man zcrecv | head -n 4", `ZCBENCH-MATRIX\(1\)`, `--dry-run`,
		`ZCRECV\(1\)`)
	do(time.Minute, "zcbench matrix --dry-run /usr/share/zcbench/experiments/quick.yaml", `runs`)
	// Runs that other work kept off the CPUs say nothing of the package: they are made again.
	do(20*time.Minute, "n=0; until zcbench demo --out /run/demo --duration 1s --rx tcp,uring --tx tcp,sendfile "+
		"--gate foreign_cores=off --gate replace=0 >/run/said 2>&1; "+
		"do cat /run/said; grep -q -e 'its edges ' -e 'no payload was transferred in the window' /run/said; "+
		"n=$((n + 1)); [ $n -lt 20 ]; rm -rf /run/demo; done; "+
		"cat /run/said; ls /run/demo; zcbench restore", `(?m)^tcp/sendfile +\d`, `report\.html`)
	do(2*time.Minute, "ls /etc/udev/rules.d /usr/lib/udev /etc/sysctl.d /usr/lib/sysctl.d /etc/systemd "+
		"2>/dev/null | grep -i zcbench || echo nothing is set up", "nothing is set up")
	do(2*time.Minute, "apt-get purge -y zcbench; dpkg --audit")
	after := whatIsThere(t, root)
	for path, what := range after {
		if before[path] != what && !diaries.MatchString(path) {
			t.Errorf("left: %s, %s; was %q", path, what, before[path])
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok && !diaries.MatchString(path) {
			t.Errorf("gone: %s", path)
		}
	}
}
