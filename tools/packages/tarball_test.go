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
	"slices"
	"strings"
	"testing"
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
			program := !strings.Contains(name, ".") && (strings.HasPrefix(name, "agents/linux-") || !strings.Contains(name, "/")) &&
				strings.HasPrefix(filepath.Base(name), "zc")
			if !ok || strings.Contains(name, "..") || h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(j.built) ||
				h.Mode != map[bool]int64{true: 0o755, false: 0o644}[program] {
				t.Errorf("%s: %v", h.Name, h.FileInfo().Mode())
			}
			files[name] = string(b)
		}
		for name, want := range map[string]string{"zcbench": "zcbench for " + arch, "zcrecv": "zcrecv for " + arch,
			"zcsend": "zcsend for " + arch, "zcnvml": "zcnvml for " + arch, "agents/linux-" + other + "/zcbench": "zcbench for " +
				other, "agents/SHA256SUMS": "", "README.md": "", "LICENSE": "", "THIRD_PARTY.md": "", "docs/hosts.md": "",
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
