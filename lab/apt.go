// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// keyring is where the package debian-archive-keyring puts the keys that sign
// Debian's archive.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// apt runs Debian's package tools against one suite with state of its own: the
// system's package lists and installed packages are neither read nor changed.
// Transport, proxies and credentials are the system's, and so is whether lists may
// be out of date. apt checks the archive's signature and every download's hash.
type apt struct {
	suite  string
	dir    string
	prefer bool // the suite's own packages to those of the one under it
	sandbox
}

// newApt writes the private configuration of suite under the cache, which the
// caller has locked.
func newApt(ctx context.Context, c *cache, suite string, log io.Writer) (*apt, error) {
	if err := needTools("apt-get", "apt-cache", "apt-config", "dpkg-deb", "unshare"); err != nil {
		return nil, err
	}
	if _, err := os.Stat(keyring); err != nil {
		return nil, &Error{"check Debian's archive keys", err, "install the package debian-archive-keyring"}
	}
	m, err := findMirror(ctx)
	if err != nil {
		return nil, err
	}
	a := &apt{suite: suite, dir: c.path("apt", suite), sandbox: findSandbox(ctx)}
	if a.why != "" {
		fmt.Fprintf(log, "lab: apt downloads as root, without its sandbox: %s\n", a.why)
	}
	return a, wrap("create apt's state", a.layOut(m))
}

// layOut makes the folders and files that apt needs. Whoever downloads must get
// to its folders, whatever the umask: see [sandbox].
func (a *apt) layOut(m mirror) error {
	for _, d := range []string{"", "state", "state/lists", "archives"} {
		p := filepath.Join(a.dir, d)
		if err := os.MkdirAll(p, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(p, 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{"status": "", "sources.list": m.sources(a.suite), "apt.conf": a.conf()}
	for name, text := range files {
		if err := writeFileAtomic(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return a.emptyIncoming()
}

// conf returns the configuration that apt reads in addition to the system's.
func (a *apt) conf() string {
	return strings.NewReplacer("DIR", a.seenAs(a.dir)).Replace(`Dir::Etc::sourcelist "DIR/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "DIR/state";
Dir::State::status "DIR/status";
Dir::Cache "DIR";
Dir::Cache::archives "DIR/archives";
APT::Architecture "amd64";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
`)
}

// unsigned are the settings by which a system may do without signatures. The
// system's configuration prevails over APT_CONFIG, options prevail over both.
var unsigned = []string{
	"-o", "Acquire::AllowInsecureRepositories=false",
	"-o", "Acquire::AllowWeakRepositories=false",
	"-o", "Acquire::AllowDowngradeToInsecureRepositories=false",
	"-o", "APT::Get::AllowUnauthenticated=false",
}

// run executes one of apt's programs with the private configuration, in the
// folder that downloads come to.
func (a *apt) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	var release []string
	if a.prefer {
		release = []string{"-o", "APT::Default-Release=" + a.suite}
	}
	argv := a.enter(a.dir, slices.Concat([]string{name}, unsigned, release, args))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(a.seenAs(a.dir), "apt.conf"),
		"LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	cmd.Dir = filepath.Join(a.dir, incoming)
	cmd.WaitDelay = pipeGrace
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; only something that it started has not
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%s %s: %w: %s", name, args[0], err, lastLines(stderr.String(), 5))
	}
	return out, nil
}

// update fetches the suite's package lists.
func (a *apt) update(ctx context.Context, log io.Writer) error {
	if a.seesNoExpiry(ctx) {
		fmt.Fprintf(log, "lab: %s: this system's apt accepts outdated lists  "+
			"(Acquire::Check-Valid-Until)\n", a.suite)
	}
	// apt-get update ends with 0 although a list failed; Error-Mode makes it say so.
	_, err := a.run(ctx, "apt-get", "update", "-o", "APT::Update::Error-Mode=any")
	if err == nil {
		return nil
	}
	fix := "check the network; with a filled cache, work without --refresh"
	if strings.Contains(err.Error(), "is expired") {
		fix = expiredFix
	}
	return &Error{"fetch Debian's package lists of " + a.suite, err, fix}
}

// seesNoExpiry reports whether the administrator has turned the check off.
func (a *apt) seesNoExpiry(ctx context.Context) bool {
	out, err := a.run(ctx, "apt-config", "dump", "--format", "%v%n", "Acquire::Check-Valid-Until")
	switch strings.TrimSpace(string(out)) {
	case "false", "no", "0", "off", "without", "disable":
		return err == nil
	}
	return false
}

// packages returns every package the suite's lists name.
func (a *apt) packages(ctx context.Context) ([]debPackage, error) {
	out, err := a.run(ctx, "apt-cache", "dumpavail")
	if err != nil {
		return nil, &Error{Op: "read Debian's package lists of " + a.suite, Err: err}
	}
	return parsePackages(bytes.NewReader(out))
}

// closure returns the files that installing pkgs on an empty system takes.
func (a *apt) closure(ctx context.Context, pkgs []string) ([]archiveFile, error) {
	args := append([]string{"install", "--print-uris", "-qq", "--yes", "-o", "Acquire::ForceHash=SHA256", "--"},
		pkgs...)
	out, err := a.run(ctx, "apt-get", args...)
	if err != nil {
		return nil, &Error{"resolve the packages to unpack", err, "try zcbench lab build --refresh"}
	}
	return parseURIs(string(out))
}

// fetch downloads pkgs and all they depend on, which is files, into the archives
// folder. apt has held them against the package lists, with what its sandboxed half
// told it; here they are once more.
func (a *apt) fetch(ctx context.Context, pkgs []string, files []archiveFile) error {
	args := append([]string{"install", "--download-only", "-qq", "--yes", "--"}, pkgs...)
	if _, err := a.run(ctx, "apt-get", args...); err != nil {
		return &Error{"download packages", err, "check the network and the free disk space, then try again"}
	}
	for _, f := range files {
		if err := checkSHA256(a.archive(f), f.SHA256); err != nil {
			a.clean()
			return err
		}
	}
	return nil
}

func (a *apt) archive(f archiveFile) string { return filepath.Join(a.dir, "archives", f.Name) }

// download fetches one package without its dependencies into dir and returns
// its path. The hash is checked against the package list once more, so that a
// file apt left half written can never be taken.
func (a *apt) download(ctx context.Context, p debPackage, dir string) (string, error) {
	if err := p.check(); err != nil {
		return "", &Error{Op: "download a package", Err: err}
	}
	if err := a.emptyIncoming(); err != nil {
		return "", &Error{Op: "empty the folder for downloads", Err: err}
	}
	if _, err := a.run(ctx, "apt-get", "download", "-qq", "--", p.Name+"="+p.Version); err != nil {
		return "", &Error{"download " + p.Name, err, "check the network, then try again"}
	}
	got, err := os.ReadDir(filepath.Join(a.dir, incoming))
	if err != nil || len(got) != 1 {
		return "", errorf("download "+p.Name, "try again", "found %d files (%v), want 1", len(got), err)
	}
	// Out of the folder of apt's user first: nobody may change it after the check.
	deb := filepath.Join(dir, p.Name+".deb")
	if err := os.Rename(filepath.Join(a.dir, incoming, got[0].Name()), deb); err != nil {
		return "", &Error{Op: "move " + p.Name, Err: err}
	}
	return deb, checkSHA256(deb, p.SHA256)
}

// clean removes downloaded archives: what was needed of them is unpacked.
func (a *apt) clean() { removeAll(filepath.Join(a.dir, "archives"), archiveName()) }

// checkSHA256 holds a file against what the package lists say.
func checkSHA256(path, want string) error {
	sum, err := fileSHA256(path)
	if err != nil {
		return &Error{Op: "check " + filepath.Base(path), Err: err}
	}
	if sum != want {
		return errorf("check "+filepath.Base(path), "try again", "SHA-256 is %s, the package list says %s", sum, want)
	}
	return nil
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
	pkg := map[string]string{"apt-get": "apt", "apt-cache": "apt", "apt-config": "apt", "dpkg-deb": "dpkg",
		"unshare": "util-linux",
		"chroot":  "coreutils", "qemu-system-x86_64": "qemu-system-x86"}
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
