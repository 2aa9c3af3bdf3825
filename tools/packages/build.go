// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/helper"
)

// programs are those of a package, each a folder in cmd.
var programs = append([]string{"zcbench", "zcrecv", "zcsend"}, helper.Names...)

// carried are those of them that zcbench copies to other hosts.
var carried = append([]string{"zcbench"}, helper.Names...)

// sumsFile lists the programs of one build for all architectures (bench/host reads it).
const sumsFile = "SHA256SUMS"

// goEnv has what go build takes from its environment, so that nobody's own decides.
var goEnv = []string{"CGO_ENABLED=0", "GOOS=linux", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=",
	"GOWORK=off", "GOFIPS140=off"}

// binary returns the path to which a program is built for an architecture.
func (j *job) binary(arch, name string) string { return filepath.Join(j.work, "linux-"+arch, name) }

// build builds the programs for an architecture, once.
func (j *job) build(arch string) error {
	if _, err := os.Stat(j.binary(arch, programs[0])); err == nil {
		return nil
	}
	args := append([]string{"build"}, j.goFlags...)
	args = append(args, "-o", j.binary(arch, "")+"/")
	for _, p := range programs {
		args = append(args, "./cmd/"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = j.root, os.Stderr
	cmd.Env = append(append(os.Environ(), goEnv...), "GOARCH="+arch)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", arch, err)
	}
	return nil
}

// sums computes the SHA-256 of what zcbench copies to other hosts, for all architectures.
func (j *job) sums() ([]byte, error) {
	var b bytes.Buffer
	for _, arch := range arches {
		for _, p := range carried {
			f, err := os.Open(j.binary(arch, p))
			if err != nil {
				return nil, err
			}
			h := sha256.New()
			_, err = io.Copy(h, f)
			f.Close()
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%x  linux-%s/%s\n", h.Sum(nil), arch, p)
		}
	}
	return b.Bytes(), nil
}

// shells are those that get completion, with the file that their packages read.
var shells = []struct{ name, file string }{
	{"bash", "/usr/share/bash-completion/completions/zcbench"},
	{"zsh", "/usr/share/zsh/vendor-completions/_zcbench"},
	{"fish", "/usr/share/fish/vendor_completions.d/zcbench.fish"},
}

// pages makes the programs write their manual pages and completions, which are the same for every
// architecture.
func (j *job) pages(native string) error {
	dir := filepath.Join(j.work, "man")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if _, err := j.output(j.binary(native, "zcbench"), "man", dir); err != nil {
		return err
	}
	for _, p := range []string{"zcrecv", "zcsend"} {
		page, err := j.output(j.binary(native, p), "--man")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p+".1"), []byte(page), 0o644)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range shells {
		script, err := j.output(j.binary(native, "zcbench"), "completion", s.name)
		if err == nil {
			err = os.WriteFile(filepath.Join(j.work, "completion."+s.name), []byte(script), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// output runs a command and returns what it prints.
func (j *job) output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = j.root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
