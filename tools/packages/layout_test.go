// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
)

// layouts are roots as other distributions have them, without their programs and libraries: merged
// below /usr, and what tells whose they are.
var layouts = []struct {
	name, release string
	dirs          []string
	links         map[string]string
}{
	{"ubuntu", "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n",
		[]string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64"},
		map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}},
	{"fedora", "ID=fedora\nVERSION_ID=42\n", []string{"usr/bin", "usr/lib", "usr/lib64"},
		map[string]string{"bin": "usr/bin", "sbin": "usr/bin", "usr/sbin": "bin", "lib": "usr/lib",
			"lib64": "usr/lib64"}},
}

// The tarball, and the files of the .rpm, run in roots without a C library, glibc or musl: nothing
// but a shell is there.
func TestIntegrationLayouts(t *testing.T) {
	long.Test(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a root and namespaces")
	}
	need(t, "busybox", "rpm2cpio", "unshare", "chroot")
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range append([]string{"proc", "sys", "dev", "run", "tmp", "etc", "root"}, l.dirs...) {
				must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
			}
			for from, to := range l.links {
				must(t, os.Symlink(to, filepath.Join(root, from)))
			}
			must(t, os.WriteFile(filepath.Join(root, "etc/os-release"), []byte(l.release), 0o644))
			command(t, "sh", "-c", `cp "$(command -v busybox)" "$1/usr/bin/busybox" &&
				chroot "$1" /usr/bin/busybox --install -s /usr/bin`, "sh", root)
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
			do(time.Minute, "cd /run; tar -xzf /tmp/zcbench.tar.gz; cd zcbench-*; ./zcbench version; ./zcbench "+
				"doctor; "+
				"./zcbench matrix --dry-run experiments/quick.yaml; cd agents; "+
				"grep -v linux-"+runtime.GOARCH+" SHA256SUMS | sha256sum -c", // zcbench itself is that agent
				`(?m)^zcbench 0\.`, `(?m)^host local, zcbench 0\.`, `runs`, `linux-(arm64|amd64)/zcbench: OK`)
			if l.name != "fedora" {
				return
			}
			command(t, "sh", "-c", `rpm2cpio "$2" | (cd "$1" && busybox cpio -idm)`, "sh", root,
				made1(t, runtime.GOARCH, "rpm"))
			do(time.Minute, "zcbench version; zcrecv --version; zcsend --version; zcbench doctor; zcbench matrix "+
				"--dry-run "+
				"/usr/share/zcbench/experiments/quick.yaml", `(?m)^zcbench 0\.`, `(?m)^host local, zcbench 0\.`, `runs`)
			do(2*time.Minute, "ip link set lo up; (zcrecv --mode tcp --listen 127.0.0.1:5201 --touch verify "+
				"--duration 1s --json >/run/said &) ; sleep 1; zcsend --mode tcp --duration 1s 127.0.0.1:5201; "+
				"sleep 1; cat /run/said",
				`"verdict": *"ok"`)
		})
	}
}
