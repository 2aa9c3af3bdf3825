// SPDX-License-Identifier: MIT

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// index is a Packages index as apt-cache dumpavail prints it.
func index(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString("Package: " + n + "\nVersion: 1-" + n +
			"\nSize: 42\nDescription: x\n Package: trap\nSHA256: ab\n\n")
	}
	return b.String()
}

func TestNewestKernel(t *testing.T) {
	for _, tc := range []struct {
		name  string
		index string
		want  string // image; empty: an error
	}{
		{"versions are numbers", index(
			"linux-binary-7.2.9+deb13-amd64", "linux-headers-7.2.9+deb13-amd64",
			"linux-binary-7.2.12+deb13-amd64", "linux-headers-7.2.12+deb13-amd64"), "linux-binary-7.2.12+deb13-amd64"},
		{"no headers, no module", index(
			"linux-binary-7.3.4+deb13-amd64", "linux-binary-7.2.1+deb13-amd64", "linux-headers-7.2.1+deb13-amd64"),
			"linux-binary-7.2.1+deb13-amd64"},
		{"not yet signed", index(
			"linux-binary-unsigned-7.3.4+deb13-amd64", "linux-headers-7.3.4+deb13-amd64",
			"linux-binary-7.2.1+deb13-amd64", "linux-headers-7.2.1+deb13-amd64"),
			"linux-binary-unsigned-7.3.4+deb13-amd64"},
		{"variants do not count", index(
			"linux-binary-7.3.4+deb13-rt-amd64", "linux-headers-7.3.4+deb13-rt-amd64",
			"linux-binary-7.3.4+deb13-cloud-amd64", "linux-headers-7.3.4+deb13-cloud-amd64"), ""},
		{"too old", index("linux-binary-6.19.14+deb13-amd64", "linux-headers-6.19.14+deb13-amd64"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all, err := parsePackages(strings.NewReader(tc.index))
			if err != nil {
				t.Fatal(err)
			}
			_, image, err := newestKernel(all)
			if image.Name != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("got %q, %v; want %q", image.Name, err, tc.want)
			}
		})
	}
}

func TestParsePackages(t *testing.T) {
	got, err := parsePackages(strings.NewReader(index("a", "b")))
	want := []debPackage{{"a", "1-a", "ab", 42}, {"b", "1-b", "ab", 42}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := parsePackages(strings.NewReader("Package: a\nSize: big\n")); err == nil {
		t.Error("a size that is no number was accepted")
	}
}

func TestMirrorFromTargets(t *testing.T) {
	const lines = `Google|Google|Packages|https://packages.example/apt
Debian|Debian-Security|Packages|http://security.example/debian-security
Debian|Debian|Components|http://wrong.example/debian
Debian|Debian|Packages|https://mirror.example/debian/
Debian|Debian|Packages|https://second.example/debian
`
	if got := mirrorFromTargets(lines); got != "https://mirror.example/debian" {
		t.Errorf("got %s", got)
	}
	if got := mirrorFromTargets("Ubuntu|Ubuntu|Packages|http://archive.example/ubuntu\n"); got != "" {
		t.Errorf("on Ubuntu: got %s", got)
	}
	const unread = "$(ORIGIN)|$(LABEL)|Packages|http://a.example/debian"
	if got := mirrorFromTargets(unread + "-security/\n" + unread + "/\n"); got != "http://a.example/debian" {
		t.Errorf("before the first update: got %s", got)
	}
}

// A fresh container has package sources and no lists: apt itself is asked.
func TestMirrorBeforeFirstUpdate(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"conf": fmt.Sprintf("Dir::State::lists %q;\nDir::Etc::sourcelist %q;\nDir::Etc::sourceparts \"-\";\n",
			dir+"/none", dir+"/sources"),
		"sources": "deb http://a.example/ubuntu noble main\ndeb http://a.example/debian bookworm main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("APT_CONFIG", filepath.Join(dir, "conf"))
	t.Setenv(mirrorEnv, "")
	if got, err := debianMirror(t.Context()); err != nil || got != "http://a.example/debian" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestParseURIs(t *testing.T) {
	zero, one := strings.Repeat("0", 64), strings.Repeat("1", 64)
	got, err := parseURIs("'http://h/p/a_1.deb' a_1.deb 123 SHA256:" + zero +
		"\n'http://h/b%3a2.deb' b_1%3a2.deb 4 SHA256:" + one + "\n")
	want := []archiveFile{{"a_1.deb", 123, zero}, {"b_1%3a2.deb", 4, one}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, line := range map[string]string{
		"no file":      "Reading package lists...",
		"a way out":    "'http://h/a.deb' ../../../etc/a.deb 4 SHA256:" + one,
		"an option":    "'http://h/a.deb' --admindir=x.deb 4 SHA256:" + one,
		"no package":   "'http://h/a.deb' apt.conf 4 SHA256:" + one,
		"another hash": "'http://h/a.deb' a_1.deb 4 MD5Sum:26e128fa514e77c2959cc3834792d1a2",
		"a bad size":   "'http://h/a.deb' a_1.deb -4 SHA256:" + one,
	} {
		if got, err := parseURIs(line + "\n"); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestPackagesThatAreNoPackages(t *testing.T) {
	good := debPackage{"linux-image-7.2.13+deb14-amd64", "2:7.2.13-1~deb14+1", strings.Repeat("a", 64), 1}
	if err := good.check(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for name, change := range map[string]func(p *debPackage){
		"an option":      func(p *debPackage) { p.Name = "-oDir::Bin::dpkg=x" },
		"a path":         func(p *debPackage) { p.Name = "../x" },
		"two words":      func(p *debPackage) { p.Version = "1 -y" },
		"another target": func(p *debPackage) { p.Version = "1/../../x" },
		"no hash":        func(p *debPackage) { p.SHA256 = "" },
	} {
		p := good
		change(&p)
		if p.check() == nil {
			t.Errorf("%s: %+v was accepted", name, p)
		}
	}
}

func TestKernelsWhoseNamesLeadElsewhere(t *testing.T) {
	for _, rel := range []string{"7.3.4+/../../../../x-amd64", "7.3.4+$(x)-amd64"} {
		all, err := parsePackages(strings.NewReader(index("linux-binary-"+rel, "linux-headers-"+rel)))
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := newestKernel(all); err == nil {
			t.Errorf("chose %s", got)
		}
	}
}

func TestPick(t *testing.T) {
	lf := &lockFile{Kernels: []*kernel{{Suite: "sid", Release: "7.2.13+deb14-amd64"},
		{Suite: "trixie-backports", Release: "7.3.4+deb13-amd64"}}}
	for word, want := range map[string]string{"7.3": "trixie-backports", "7.2.13+deb14-amd64": "sid", "sid": "sid"} {
		got, err := pick([]string{word}, lf)
		if err != nil || !cmp.Equal(got, []string{want}) {
			t.Errorf("%s: got %v, %v", word, got, err)
		}
	}
	if _, err := pick([]string{"6.1"}, lf); err == nil || !strings.Contains(err.Error(), "trixie-backports") {
		t.Errorf("an unknown kernel: %v, want an error that names the choices", err)
	}
	if got, err := pick([]string{"all"}, lf); err != nil || !cmp.Equal(got, Suites) {
		t.Errorf("all: got %v, %v", got, err)
	}
}
