// SPDX-License-Identifier: MIT

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// The archive has what a package has, as a checkout has it: the programs, the agents beside them,
// the pages. It is the same each time, and its checksum is right.
func TestTarball(t *testing.T) {
	j := fake(t)
	j.version = "0.1.0"
	for _, arch := range arches {
		other := arches[1-slices.Index(arches, arch)]
		out := t.TempDir()
		path, err := j.tarball(arch, out)
		must(t, err)
		if name := filepath.Base(path); name != "zcbench-0.1.0-linux-"+arch+".tar.gz" {
			t.Errorf("it is called %s", name)
		}
		text, err := os.ReadFile(path)
		must(t, err)
		z, err := gzip.NewReader(bytes.NewReader(text))
		must(t, err)
		files := map[string]string{}
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			must(t, err)
			b, err := io.ReadAll(r)
			must(t, err)
			name, ok := strings.CutPrefix(h.Name, "zcbench-0.1.0-linux-"+arch+"/")
			program := !strings.Contains(name, ".") && (strings.HasPrefix(name, "agents/linux-") ||
				!strings.Contains(name, "/")) &&
				strings.HasPrefix(filepath.Base(name), "zc")
			if !ok || strings.Contains(name, "..") || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(j.built) ||
				h.Mode != map[bool]int64{true: 0o755, false: 0o644}[program] {
				t.Errorf("%s: %v", h.Name, h.FileInfo().Mode())
			}
			files[name] = string(b)
		}
		for name, want := range map[string]string{"zcbench": "zcbench for " + arch, "zcrecv": "zcrecv for " + arch,
			"zcsend": "zcsend for " + arch, "zcnvml": "zcnvml for " + arch, "zcgpu": "zcgpu for " + arch,
			"agents/linux-" + other +
				"/zcbench": "zcbench for " +
				other, "agents/SHA256SUMS": "", "README.md": "", "LICENSE": "", "THIRD_PARTY.md": "",
			"docs/hosts.md":          "",
			"experiments/quick.yaml": "", "man/man1/zcbench-run.1.gz": "", "completions/bash/zcbench": "",
			"completions/zsh/_zcbench": "", "completions/fish/zcbench.fish": ""} {
			if got, ok := files[name]; !ok || want != "" && got != want {
				t.Errorf("%s for %s: %q", name, arch, got)
			}
		}
		again, err := j.tarball(arch, t.TempDir())
		must(t, err)
		if b, err := os.ReadFile(again); err != nil || !bytes.Equal(b, text) {
			t.Errorf("it is another one the second time: %v", err)
		}
		_, err = sumUp([]string{path}, out)
		must(t, err)
		check := exec.Command("sha256sum", "--check", "--strict", sumsFile)
		check.Dir = out
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
}

// go install makes programs of a module that replaces nothing.
func TestGoInstall(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	must(t, err)
	for _, word := range []string{"replace ", "replace(", "exclude "} {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("go.mod has %q: go install ...@latest refuses it", word)
		}
	}
}

// emptyRoot runs the rest of the command line in a root that has nothing but the folder $1 and the
// kernel's files.
const emptyRoot = `set -e; root=$1; shift
mkdir -p "$root/proc" "$root/sys" "$root/tmp"
mount -t proc proc "$root/proc"; mount --rbind /sys "$root/sys"; cd "$root"; exec chroot . "$@"`

// The archive is all that a host needs: in a root without any other program its own run, and
// measure.
func TestIntegrationArchive(t *testing.T) {
	long.Test(t)
	need(t, "unshare", "chroot")
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes another root")
	}
	dir := packages(t)
	command(t, "sh", "-c", `cd "$1" && sha256sum --check --strict SHA256SUMS`, "sh", dir)
	found, err := filepath.Glob(filepath.Join(dir, "zcbench-*-linux-"+runtime.GOARCH+".tar.gz"))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("archives: %q", found)
	}
	root := t.TempDir()
	command(t, "tar", "xzf", found[0], "-C", root)
	name := strings.TrimSuffix(filepath.Base(found[0]), ".tar.gz")
	in := func(args ...string) string {
		return command(t, "unshare", slices.Concat([]string{"--mount", "sh", "-c", emptyRoot, "sh", root}, args)...)
	}
	for _, p := range []string{"zcbench", "zcrecv", "zcsend"} {
		if said := in("/"+name+"/"+p, "--version"); !strings.HasPrefix(said, p+" version 0") {
			t.Errorf("%s: %s", p, said)
		}
	}
	if said := in("/"+name+"/zcbench", "doctor"); !strings.Contains(said, "rx tcp ") {
		t.Errorf("doctor: %s", said)
	}
	said := in("/"+name+"/zcbench", "run", "--sut", "local", "--tg", "local", "--rx", "tcp", "--tx", "tcp",
		"--duration",
		"300ms", "--gate", "foreign_cores=off", "--json")
	if !strings.Contains(said, `"rx_mode":"tcp"`) {
		t.Errorf("a run: %s", said)
	}
}
