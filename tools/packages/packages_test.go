// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fake is a job whose programs and pages are short texts.
func fake(t *testing.T) *job {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root, err := filepath.Abs("../..")
	must(t, err)
	j := &job{root: root, work: t.TempDir(), version: "0.1.0-rc.1+5.g0123456789ab", maintainer: "A B <a@b.example>",
		built: time.Unix(1700000000, 0).UTC()}
	for _, arch := range arches {
		for _, p := range programs {
			put(t, j.binary(arch, p), p+" for "+arch)
		}
	}
	put(t, filepath.Join(j.work, "man", "zcbench-run.1"), ".TH\n")
	for _, s := range shells {
		put(t, filepath.Join(j.work, "completion."+s.name), "complete\n")
	}
	return j
}

func put(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestSortable(t *testing.T) {
	for in, want := range map[string]string{
		"0.1.0": "0.1.0", "0.1.0-rc.1": "0.1.0~rc.1", "0.1.0+5.g0123456789ab": "0.1.0+5.g0123456789ab",
		"0.1.0-dev.1200+g0123.dirty": "0.1.0~dev.1200+g0123.dirty",
		"":                           "", "devel": "", "v0.1.0": "", "0.1": "", "0.1.0-rc-1": "", "0.1.0 1": "",
		"0.1.0+a+b": "", "0.1.0/../x": "",
	} {
		if got, err := sortable(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

// dpkg orders versions as they were made.
func TestOrder(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("dpkg is not installed")
	}
	order := []string{"0.1.0-dev.9+gffff", "0.1.0-dev.1200+g0000", "0.1.0-rc.1", "0.1.0-rc.1+1.g0000", "0.1.0-rc.2",
		"0.1.0", "0.1.0+9.gffff", "0.1.0+10.g0000", "0.1.1"}
	for i := range order[1:] {
		a, err := sortable(order[i])
		must(t, err)
		b, err := sortable(order[i+1])
		must(t, err)
		if err := exec.Command("dpkg", "--compare-versions", a+"-"+release, "lt", b+"-"+release).Run(); err != nil {
			t.Errorf("%s is not before %s: %v", a, b, err)
		}
	}
}

// A package has programs, pages and examples, all of one time, and nothing where a host is set up.
func TestContents(t *testing.T) {
	j := fake(t)
	for _, arch := range arches {
		for _, format := range []string{"deb", "rpm"} {
			s, err := j.contents(arch, format)
			must(t, err)
			checkContents(t, s, arch, format)
		}
	}
}

func checkContents(t *testing.T, s *stage, arch, format string) {
	t.Helper()
	other := arches[1-slices.Index(arches, arch)]
	want := map[string]string{
		"/usr/bin/zcbench": "zcbench for " + arch, "/usr/bin/zcrecv": "zcrecv for " + arch,
		"/usr/bin/zcsend":         "zcsend for " + arch,
		"/usr/lib/zcbench/zcnvml": "zcnvml for " + arch, "/usr/lib/zcbench/zcgpu": "zcgpu for " + arch,
		"/usr/lib/zcbench/agents/linux-" + other +
			"/zcbench": "zcbench for " + other,
		"/usr/lib/zcbench/agents/linux-" + other + "/zcnvml": "zcnvml for " + other,
		"/usr/lib/zcbench/agents/linux-" + other + "/zcgpu":  "zcgpu for " + other,
		"/usr/lib/zcbench/agents/SHA256SUMS":                 "",
		"/usr/share/man/man1/zcbench-run.1.gz":               "", "/usr/share/bash-completion/completions/zcbench": "",
		"/usr/share/zsh/vendor-completions/_zcbench": "", "/usr/share/fish/vendor_completions.d/zcbench.fish": "",
		"/usr/share/zcbench/experiments/quick.yaml": "", "/usr/share/doc/zcbench/README.md": "",
		"/usr/share/doc/zcbench/docs/hosts.md": "",
		"/usr/share/doc/zcbench/changelog.gz":  "", "/usr/share/doc/zcbench/THIRD_PARTY.md": "",
		"/usr/share/doc/zcbench/examples/Containerfile":         "",
		"/usr/share/doc/zcbench/examples/udev/70-zcbench.rules": "",
		"/usr/share/doc/zcbench/examples/sysctl/zcbench.conf":   "",
		"/usr/lib/zcbench/": "dir", "/usr/share/doc/zcbench/examples/udev/": "dir",
	}
	if format == "deb" {
		want["/usr/share/doc/zcbench/copyright"], want["/usr/share/doc/zcbench/changelog.Debian.gz"],
			want["/usr/share/lintian/overrides/zcbench"] = "", "", ""
	} else {
		want["/usr/share/licenses/zcbench/LICENSE"] = ""
	}
	places := []string{"/usr/bin/", libDir + "/", shareDir + "/", docDir + "/", "/usr/share/man/man1/",
		"/usr/share/lintian/overrides/zcbench", licenseDir + "/"}
	for _, sh := range shells {
		places = append(places, sh.file)
	}
	seen := map[string]bool{}
	for _, e := range s.entries {
		if seen[e.dst] {
			t.Errorf("%s twice", e.dst)
		}
		seen[e.dst] = true
		if !slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(e.dst, p) }) ||
			strings.HasSuffix(e.dst, ".go") {
			t.Errorf("%s is nothing of a package's", e.dst)
		}
		if e.src == "" {
			continue
		}
		st, err := os.Stat(e.src)
		must(t, err)
		mode := os.FileMode(0o644)
		if strings.HasPrefix(e.dst, "/usr/bin/") || strings.HasPrefix(e.dst, libDir) &&
			filepath.Base(e.dst) != sumsFile {
			mode = 0o755
		}
		if st.Mode() != mode || e.mode != mode || !st.ModTime().Equal(s.built) {
			t.Errorf("%s: %v of %v", e.dst, st.Mode(), st.ModTime())
		}
		if b, _ := os.ReadFile(e.src); want[e.dst] != "" && want[e.dst] != string(b) {
			t.Errorf("%s has %q", e.dst, b)
		}
	}
	for dst := range want {
		if !seen[dst] {
			t.Errorf("%s for %s lacks %s", format, arch, dst)
		}
	}
}

// The list of agents names what is in it, whichever package it is in.
func TestSums(t *testing.T) {
	j := fake(t)
	sums, err := j.sums()
	must(t, err)
	if n := bytes.Count(sums, []byte("\n")); n != len(arches)*len(carried) {
		t.Errorf("%d lines:\n%s", n, sums)
	}
	put(t, filepath.Join(j.work, sumsFile), string(sums))
	cmd := exec.Command("sha256sum", "--check", "--strict", sumsFile)
	cmd.Dir = j.work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Debian's files name version, date and licences.
func TestDebianFiles(t *testing.T) {
	j := fake(t)
	s, err := j.contents("amd64", "deb")
	must(t, err)
	of := func(dst string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(s.dir, dst))
		must(t, err)
		if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			if z.Name != "" || !z.ModTime.IsZero() {
				t.Errorf("%s: compressed with a name or time: %+v", dst, z.Header)
			}
			b, err = io.ReadAll(z)
			must(t, err)
		}
		return string(b)
	}
	log := of(docDir + "/changelog.Debian.gz")
	if !strings.HasPrefix(log, "zcbench (0.1.0~rc.1+5.g0123456789ab-1) unstable; urgency=medium\n\n  * ") ||
		!strings.HasSuffix(log, "\n -- A B <a@b.example>  Tue, 14 Nov 2023 22:13:20 +0000\n") {
		t.Error(log)
	}
	if log := of(docDir + "/changelog.gz"); !strings.HasPrefix(log, "# Changelog\n") {
		t.Errorf("%.100s", log)
	}
	right := of(docDir + "/copyright")
	for _, want := range []string{"\nCopyright: 2026 the zcbench authors\n",
		"\n Permission is hereby granted, free of charge,", "\n .\n", "\nFiles: lab/softnic/*\n",
		"common-licenses/GPL-2"} {
		if !strings.Contains(right, want) {
			t.Errorf("the copyright file lacks %q:\n%s", want, right)
		}
	}
	if strings.Contains(right, "\n\n\n") || strings.Contains(right, "MIT License\n") {
		t.Error(right)
	}
	if o := overrides("arm64"); !strings.Contains(o, "linux-amd64/zcbench") || strings.Contains(o, "linux-arm64") {
		t.Error(o)
	}
}

// The date is that of the last commit, or what the environment says.
func TestSourceDate(t *testing.T) {
	j := fake(t)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if d, err := j.sourceDate(); err != nil || d.Unix() != 1700000000 {
		t.Error(d, err)
	}
	for _, bad := range []string{"yesterday", "-1", "1.5"} {
		t.Setenv("SOURCE_DATE_EPOCH", bad)
		if d, err := j.sourceDate(); err == nil {
			t.Errorf("%s is %v", bad, d)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if d, err := j.sourceDate(); err != nil || d.After(time.Now()) || d.Year() < 2026 {
		t.Error(d, err)
	}
}

// Without a version there are no packages.
func TestNoVersion(t *testing.T) {
	for _, v := range []string{"", "devel"} {
		if err := (&job{root: t.TempDir(), version: v}).run(t.TempDir(), ""); err == nil ||
			!strings.Contains(err.Error(), "git checkout") {
			t.Errorf("%q: %v", v, err)
		}
	}
}
