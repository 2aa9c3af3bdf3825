// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"unicode"

	"github.com/zcbench/zcbench/internal/lazy"
)

const (
	// mirrorEnv overrides the mirror that is found in the system's configuration.
	mirrorEnv = "ZCBENCH_DEBIAN_MIRROR"
	// snapshotEnv says that the mirror is meant to stand still.
	snapshotEnv = "ZCBENCH_DEBIAN_SNAPSHOT"
)

// expiredFix is for lists whose Valid-Until is past.
const expiredFix = "old lists hold back newer fixes: name a current mirror with " +
	mirrorEnv + "; if you want this state of the archive, set " + snapshotEnv + "=1"

// mirror is where packages come from.
type mirror struct {
	url      string
	snapshot bool // a past state of the archive: its lists have expired, and may
}

// dated matches the addresses of snapshots, as snapshot.debian.org has them:
// the time is part of the name, so nobody can take an old one for the newest.
var dated = lazy.Regexp(`/[0-9]{8}T[0-9]{6}Z(/|$)`)

// sources writes the sources.list of suite. A backports suite needs the stable release under it.
func (m mirror) sources(suite string) string {
	options := "arch=amd64 signed-by=" + keyring
	if m.snapshot {
		options += " check-valid-until=no"
	}
	line := func(s string) string { return fmt.Sprintf("deb [%s] %s %s main\n", options, m.url, s) }
	if base, ok := strings.CutSuffix(suite, "-backports"); ok {
		return line(base) + line(suite)
	}
	return line(suite)
}

// findMirror finds the mirror to use, and whether it is a snapshot.
func findMirror(ctx context.Context) (mirror, error) {
	at, err := debianMirror(ctx)
	if err != nil {
		return mirror{}, err
	}
	m := mirror{at, dated().MatchString(at)}
	switch v := os.Getenv(snapshotEnv); v {
	case "":
	case "0", "1":
		m.snapshot = v == "1"
	default:
		return mirror{}, errorf("read "+snapshotEnv,
			"set it to 1 if the mirror is a past state of the archive, else to 0", "bad value %q", v)
	}
	return m, nil
}

// debianMirror returns ZCBENCH_DEBIAN_MIRROR, or else the Debian archive that this system installs
// from.
func debianMirror(ctx context.Context) (string, error) {
	if m := os.Getenv(mirrorEnv); m != "" {
		u, err := url.Parse(m)
		if err != nil || u.Scheme == "" || strings.ContainsFunc(m, unicode.IsSpace) {
			return "", errorf("read "+mirrorEnv, "give the URL of a Debian mirror, up to and including /debian",
				"bad URL %q", m)
		}
		return strings.TrimSuffix(m, "/"), nil
	}
	targets, err := indexTargets(ctx)
	if err == nil && targets == "" {
		targets, err = indexTargets(ctx, "--no-release-info")
	}
	if err != nil {
		return "", &Error{"list this system's package sources with apt-get indextargets", err, ""}
	}
	mirror := mirrorFromTargets(targets)
	if mirror == "" {
		return "", errorf("find a Debian mirror", "set "+mirrorEnv+" to the URL of one, up to and including /debian",
			"this system's package sources name none")
	}
	return mirror, nil
}

// indexTargets asks apt-get for this system's package sources, a line ORIGIN|LABEL|KIND|URI each.
// Before the first apt-get update, as in a fresh container, apt-get lists something only without
// what release files say.
func indexTargets(ctx context.Context, options ...string) (string, error) {
	args := append([]string{"indextargets"}, options...)
	out, err := exec.CommandContext(ctx, "apt-get",
		append(args, "--format", "$(ORIGIN)|$(LABEL)|$(CREATED_BY)|$(REPO_URI)")...).Output()
	return string(out), err
}

// mirrorFromTargets picks the Debian archive from the lines ORIGIN|LABEL|KIND|URI
// of apt-get indextargets, "" where there is none. The security archive does not
// carry other suites. Where no release files are read, apt leaves $(ORIGIN) as it is:
// then the usual ending of the URI tells. mk/lab-need.sh judges by the same rules.
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
		if f[0] == "$(ORIGIN)" && guess == "" && strings.HasSuffix(uri, "/debian") {
			guess = uri
		}
	}
	return guess
}
