// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// made are the packages that make package has made of this checkout, once for all tests.
var made struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	status := m.Run()
	if made.dir != "" {
		os.RemoveAll(made.dir)
	}
	os.Exit(status)
}

// packages is the folder of the packages of this checkout, or of those that ZCBENCH_PACKAGES names,
// for who works on these tests.
func packages(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("ZCBENCH_PACKAGES"); dir != "" {
		return dir
	}
	made.Do(func() {
		if made.dir, made.err = os.MkdirTemp("", "zcbench-made-"); made.err == nil {
			made.err = os.Chmod(made.dir, 0o755) // apt's user reads them
		}
		if made.err == nil {
			made.err = makePackages("../..", made.dir, "022")
		}
	})
	must(t, made.err)
	return made.dir
}

// makePackages is make package in a checkout.
func makePackages(root, out, umask string) error {
	cmd := exec.Command("/bin/sh", "-c", `umask $1; exec make -C "$2" package PACKAGES="$3"`, "sh", umask, root, out)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return errors.New("make package: " + err.Error() + "\n" + string(said))
	}
	return nil
}

// made1 is the one package of an architecture and format.
func made1(t *testing.T, arch, format string) string {
	t.Helper()
	end := "_" + arch + ".deb"
	switch format {
	case "rpm":
		end = "." + rpmArch[arch] + ".rpm"
	case "tar.gz":
		end = "-linux-" + arch + ".tar.gz"
	}
	found, err := filepath.Glob(filepath.Join(packages(t), "zcbench*"+end))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("packages for %s: %v", arch, found)
	}
	return found[0]
}

// need skips where a program is not installed. make deps-long installs it where it can.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

// command runs a command, which must succeed, and returns what it says.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// unpacked is a folder with what is in the .deb for an architecture.
func unpacked(t *testing.T, arch string) string {
	t.Helper()
	need(t, "dpkg-deb")
	dir := t.TempDir()
	command(t, "dpkg-deb", "--extract", made1(t, arch, "deb"), dir)
	return dir
}

// Two builds of one checkout make the same bytes: another folder, umask, time and builder.
func TestReproducible(t *testing.T) {
	long.Test(t)
	t.Setenv("ZCBENCH_PACKAGES", "")
	first, second := packages(t), t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "a", "longer path", "zcbench")
	copyCheckout(t, elsewhere)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("GOCACHE", t.TempDir()) // all is compiled anew
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	must(t, makePackages(elsewhere, second, "077"))
	files, err := os.ReadDir(first)
	must(t, err)
	if len(files) != 3*len(arches)+1 {
		t.Errorf("%d packages and checksums: %v", len(files), files)
	}
	for _, f := range files {
		a, err := os.ReadFile(filepath.Join(first, f.Name()))
		must(t, err)
		b, err := os.ReadFile(filepath.Join(second, f.Name()))
		must(t, err)
		if string(a) != string(b) {
			t.Errorf("%s: %d and %d bytes, which differ", f.Name(), len(a), len(b))
		}
	}
}

// copyCheckout copies what git tracks, as it is now, to a folder that git takes for a checkout.
func copyCheckout(t *testing.T, to string) {
	t.Helper()
	j := &job{root: "../.."}
	files, err := j.output("git", "ls-files", "-z")
	must(t, err)
	for name := range strings.SplitSeq(strings.TrimRight(files, "\x00"), "\x00") {
		st, err := os.Lstat(filepath.Join(j.root, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet for git
		}
		must(t, err)
		if st.Mode().IsRegular() {
			must(t, copyFile(filepath.Join(j.root, name), filepath.Join(to, name), st.Mode().Perm()))
		}
	}
	dir, err := j.output("git", "rev-parse", "--absolute-git-dir")
	must(t, err)
	put(t, filepath.Join(to, ".git"), "gitdir: "+dir)
}

// Debian's checker has no complaint that it calls an error.
func TestLintian(t *testing.T) {
	long.Test(t)
	need(t, "lintian")
	for _, arch := range arches {
		cmd := exec.Command("lintian", "--allow-root", "--fail-on", "error", "--suppress-tags",
			"initial-upload-closes-no-bugs", "--info", made1(t, arch, "deb"))
		said, err := cmd.CombinedOutput()
		t.Logf("%s:\n%s", arch, said)
		if err != nil {
			t.Errorf("%s: %v", arch, err)
		}
		if strings.Contains(string(said), "unused-override") || strings.Contains(string(said), "mismatched-override") {
			t.Errorf("%s: an override excuses nothing", arch)
		}
	}
}

// rpm lists, installs and erases the package.
func TestRPM(t *testing.T) {
	long.Test(t)
	need(t, "rpm")
	if os.Geteuid() != 0 {
		t.Skip("needs root: rpm installs into a root of its own")
	}
	for _, arch := range arches {
		p := made1(t, arch, "rpm")
		list := command(t, "rpm", "-qlp", p)
		for _, want := range []string{"/usr/bin/zcbench", "/usr/lib/zcbench", "/usr/lib/zcbench/agents/SHA256SUMS",
			"/usr/share/man/man1/zcbench-matrix.1.gz"} {
			if !strings.Contains(list, want+"\n") {
				t.Errorf("%s lacks %s", p, want)
			}
		}
		for line := range strings.Lines(list) { // folders of the system are not ours
			switch strings.TrimSpace(line) {
			case "/usr", "/usr/bin", "/usr/lib", "/usr/share", "/usr/share/man", "/usr/share/man/man1",
				"/usr/share/doc":
				t.Errorf("%s owns %s", p, line)
			}
		}
		what := command(t, "rpm", "-qp", "--qf", "%{NAME} %{ARCH} %{BUILDHOST} %{LICENSE}\n", p)
		if what != "zcbench "+rpmArch[arch]+" localhost MIT AND GPL-2.0-only\n" {
			t.Errorf("%s is %q", p, what)
		}
	}
	root := t.TempDir()
	rpm := func(args ...string) string {
		return command(t, "rpm", append([]string{"--root", root, "--dbpath", "/var/lib/rpm"}, args...)...)
	}
	rpm("--initdb")
	rpm("--install", "--nodeps", made1(t, runtime.GOARCH, "rpm")) // the empty root has no C library
	if got := command(t, filepath.Join(root, "usr/bin/zcbench"), "version"); !strings.HasPrefix(got, "zcbench ") {
		t.Error(got)
	}
	if bad := rpm("--verify", "--nodeps", "zcbench"); strings.TrimSpace(bad) != "" {
		t.Errorf("rpm --verify: %s", bad)
	}
	rpm("--erase", "zcbench")
	must(t, filepath.WalkDir(filepath.Join(root, "usr"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("left: %s", path)
		}
		return err
	}))
	for _, dir := range []string{libDir, shareDir, docDir, licenseDir} {
		if _, err := os.Stat(filepath.Join(root, dir)); err == nil {
			t.Errorf("left: %s", dir)
		}
	}
}
