package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// keyring is where the package debian-archive-keyring puts the keys that sign
// Debian's archive.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// mirrorEnv overrides the mirror that is found in the system's configuration.
const mirrorEnv = "ZCBENCH_DEBIAN_MIRROR"

// apt runs Debian's package tools against one suite with state of its own: the
// system's package lists and installed packages are neither read nor changed.
// Transport, proxies and credentials are the system's. apt checks the archive's
// signature and every download's hash.
type apt struct {
	suite string
	dir   string
}

// newApt writes the private configuration of suite under the cache.
func newApt(ctx context.Context, c *cache, suite string) (*apt, error) {
	if err := needTools("apt-get", "apt-cache", "dpkg-deb"); err != nil {
		return nil, err
	}
	if _, err := os.Stat(keyring); err != nil {
		return nil, &Error{"check Debian's archive keys", err, "install the package debian-archive-keyring"}
	}
	mirror, err := debianMirror(ctx)
	if err != nil {
		return nil, err
	}
	a := &apt{suite, c.path("apt", suite)}
	for _, d := range []string{"state/lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return nil, &Error{Op: "create apt state", Err: err}
		}
	}
	files := map[string]string{"status": "", "sources.list": sources(mirror, suite), "apt.conf": a.conf()}
	for name, text := range files {
		if err := writeFileAtomic(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return nil, &Error{Op: "write apt configuration", Err: err}
		}
	}
	return a, nil
}

// sources is the sources.list of suite. A backports suite needs the stable
// release under it.
func sources(mirror, suite string) string {
	line := func(s string) string {
		return fmt.Sprintf("deb [arch=amd64 signed-by=%s] %s %s main\n", keyring, mirror, s)
	}
	if base, ok := strings.CutSuffix(suite, "-backports"); ok {
		return line(base) + line(suite)
	}
	return line(suite)
}

// conf is read by apt in addition to the system's configuration. The lists of
// an archive snapshot may be old, hence no expiry check: versions are pinned by
// lock.json anyway.
func (a *apt) conf() string {
	return strings.NewReplacer("DIR", a.dir).Replace(`Dir::Etc::sourcelist "DIR/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "DIR/state";
Dir::State::status "DIR/status";
Dir::Cache "DIR";
Dir::Cache::archives "DIR/archives";
APT::Architecture "amd64";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
`)
}

// debianMirror is ZCBENCH_DEBIAN_MIRROR, or the Debian archive that this
// system installs from.
func debianMirror(ctx context.Context) (string, error) {
	if m := os.Getenv(mirrorEnv); m != "" {
		u, err := url.Parse(m)
		if err != nil || u.Scheme == "" {
			return "", errorf("read "+mirrorEnv, "give the URL of a Debian mirror, up to and with /debian", "bad URL %q", m)
		}
		return strings.TrimSuffix(m, "/"), nil
	}
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format",
		"$(ORIGIN)|$(LABEL)|$(CREATED_BY)|$(REPO_URI)").Output()
	if err != nil {
		return "", &Error{"list this system's package sources with apt-get indextargets", err, ""}
	}
	mirror := mirrorFromTargets(string(out))
	if mirror == "" {
		return "", errorf("find a Debian mirror", "set "+mirrorEnv+" to the URL of one, up to and with /debian", "this system's package sources name none")
	}
	return mirror, nil
}

// mirrorFromTargets picks the Debian archive from the lines ORIGIN|LABEL|KIND|URI
// of apt-get indextargets, "" where there is none. The security archive does not
// carry other suites. Before the first apt-get update nothing but the URI is
// known: then its usual ending tells.
func mirrorFromTargets(lines string) string {
	guess := ""
	for line := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 || f[2] != "Packages" {
			continue
		}
		uri := strings.TrimSuffix(f[3], "/")
		if f[0] == "Debian" && f[1] == "Debian" {
			return uri
		}
		if f[0] == "" && guess == "" && strings.HasSuffix(uri, "/debian") {
			guess = uri
		}
	}
	return guess
}

// run executes one of apt's programs with the private configuration.
func (a *apt) run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(a.dir, "apt.conf"), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%s %s: %w: %s", name, args[0], err, lastLines(stderr.String(), 5))
	}
	return out, nil
}

// update fetches the suite's package lists.
func (a *apt) update(ctx context.Context) error {
	// apt-get update ends with 0 although a list failed; Error-Mode makes it say so.
	_, err := a.run(ctx, "/", "apt-get", "-o", "APT::Update::Error-Mode=any", "update")
	if err != nil {
		return &Error{"fetch Debian's package lists of " + a.suite, err,
			"check the network; with a filled cache, work without --refresh"}
	}
	return nil
}

// packages returns every package the suite's lists name.
func (a *apt) packages(ctx context.Context) ([]debPackage, error) {
	out, err := a.run(ctx, "/", "apt-cache", "dumpavail")
	if err != nil {
		return nil, &Error{Op: "read Debian's package lists of " + a.suite, Err: err}
	}
	return parsePackages(bytes.NewReader(out))
}

// closure returns the files that installing pkgs on an empty system takes.
func (a *apt) closure(ctx context.Context, pkgs []string) ([]archiveFile, error) {
	args := append([]string{"install", "--print-uris", "-qq", "--yes"}, pkgs...)
	out, err := a.run(ctx, "/", "apt-get", args...)
	if err != nil {
		return nil, &Error{"resolve the packages of the module toolchain", err, "try zcbench lab build --refresh"}
	}
	return parseURIs(string(out))
}

// archiveFile is one .deb: its name in the archives folder and its size in
// bytes, from apt-get --print-uris: 'URI' NAME SIZE HASH.
type archiveFile struct {
	Name string
	Size int64
}

func parseURIs(out string) ([]archiveFile, error) {
	var files []archiveFile
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[0], "'") {
			continue
		}
		var size int64
		if _, err := fmt.Sscan(f[2], &size); err != nil {
			return nil, fmt.Errorf("apt-get --print-uris: bad size in %q", line)
		}
		files = append(files, archiveFile{f[1], size})
	}
	if len(files) == 0 {
		return nil, errors.New("apt-get --print-uris named no file")
	}
	return files, nil
}

// fetch downloads pkgs and all they depend on into the archives folder.
func (a *apt) fetch(ctx context.Context, pkgs []string) error {
	args := append([]string{"install", "--download-only", "-qq", "--yes"}, pkgs...)
	_, err := a.run(ctx, "/", "apt-get", args...)
	if err != nil {
		return &Error{"download the module toolchain", err, "check the network and the free disk space, then run it again"}
	}
	return nil
}

// download fetches one package without its dependencies into dir and returns
// its path. The hash is checked against the package list once more, so that a
// file apt left half written can never be taken.
func (a *apt) download(ctx context.Context, p debPackage, dir string) (string, error) {
	if _, err := a.run(ctx, dir, "apt-get", "download", "-qq", p.Name+"="+p.Version); err != nil {
		return "", &Error{"download " + p.Name, err, "check the network, then run it again"}
	}
	debs, _ := filepath.Glob(filepath.Join(dir, p.Name+"_*.deb"))
	if len(debs) != 1 {
		return "", errorf("download "+p.Name, "", "found %d files, want 1", len(debs))
	}
	sum, err := fileSHA256(debs[0])
	if err != nil {
		return "", &Error{Op: "check " + p.Name, Err: err}
	}
	if sum != p.SHA256 {
		return "", errorf("check "+p.Name, "run it again", "SHA-256 is %s, the package list says %s", sum, p.SHA256)
	}
	return debs[0], nil
}

// clean removes downloaded archives: what was needed of them is unpacked.
func (a *apt) clean() {
	debs, _ := filepath.Glob(filepath.Join(a.dir, "archives", "*.deb"))
	for _, d := range debs {
		os.Remove(d)
	}
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// unpackDeb extracts a .deb's files into dir.
func unpackDeb(ctx context.Context, deb, dir string) error {
	out, err := exec.CommandContext(ctx, "dpkg-deb", "--extract", deb, dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("dpkg-deb --extract %s: %w: %s", filepath.Base(deb), err, lastLines(string(out), 3))
	}
	return nil
}

// needTools checks that programs are installed and says which package has them.
func needTools(names ...string) error {
	pkg := map[string]string{"apt-get": "apt", "apt-cache": "apt", "dpkg-deb": "dpkg", "unshare": "util-linux",
		"chroot": "coreutils", "qemu-system-x86_64": "qemu-system-x86"}
	for _, n := range names {
		if _, err := exec.LookPath(n); err != nil {
			return &Error{"look for " + n, err, "install the package " + pkg[n] +
				" (the lab needs a Debian or Ubuntu system)"}
		}
	}
	return nil
}

// lastLines returns the last n lines of s, joined for a one-line message.
func lastLines(s string, n int) string {
	l := strings.Split(strings.TrimSpace(s), "\n")
	if len(l) > n {
		l = l[len(l)-n:]
	}
	return strings.Join(l, " | ")
}
