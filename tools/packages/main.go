// SPDX-License-Identifier: MIT

// Command packages builds zcbench for each architecture and makes its .deb, its .rpm and an archive
// for all others, with their checksums, for make package. The same commit and the same Go make the
// same bytes, wherever and whenever.
//
// With --agents DIR it makes no packages, but the folder of programs for hosts of other
// architectures, for make agents.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// arches are those that packages are made for.
var arches = []string{"amd64", "arm64"}

// job is what is to be made.
type job struct {
	root       string // of the repository
	work       string // a folder for what is made on the way
	version    string // as semantic versioning has it
	maintainer string
	built      time.Time // what all files are said to be of
	goFlags    []string  // of go build, the same as those of make build
	nfpm       string    // the program
}

func main() {
	var j job
	var out, agents, flags string
	flag.StringVar(&j.nfpm, "nfpm", "", "the program nfpm")
	flag.StringVar(&j.version, "version", "", "as mk/version.sh prints it")
	flag.StringVar(&j.maintainer, "maintainer", "", "whom the packages name: NAME <MAIL>")
	flag.StringVar(&flags, "build-flags", "", "flags of go build, one a line")
	flag.StringVar(&out, "out", "out/packages", "where the packages go")
	flag.StringVar(&agents, "agents", "", "make this folder of programs for other architectures, and no packages")
	flag.Parse()
	j.goFlags = strings.FieldsFunc(flags, func(r rune) bool { return r == '\n' })
	j.root = "."
	if err := j.run(out, agents); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func (j *job) run(out, agents string) (err error) {
	if j.version == "" || j.version == "devel" {
		return fmt.Errorf(
			"no version: packages are made from a git checkout, whose tags and commits say which one it is")
	}
	if j.work, err = os.MkdirTemp("", "zcbench-packages-"); err != nil {
		return err
	}
	defer os.RemoveAll(j.work)
	if j.built, err = j.sourceDate(); err != nil {
		return err
	}
	if agents != "" {
		return j.makeAgents(agents)
	}
	made, err := j.packages(out)
	for _, p := range made {
		fmt.Println(p)
	}
	return err
}

// sourceDate returns the time that SOURCE_DATE_EPOCH names
// (reproducible-builds.org/specs/source-date-epoch), or else that of the last commit.
func (j *job) sourceDate() (time.Time, error) {
	said := os.Getenv("SOURCE_DATE_EPOCH")
	if said == "" {
		out, err := j.output("git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("no SOURCE_DATE_EPOCH, and %w", err)
		}
		said = strings.TrimSpace(out)
	}
	s, err := strconv.ParseInt(said, 10, 64)
	if err != nil || s <= 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH=%q: must be seconds since 1970", said)
	}
	return time.Unix(s, 0).UTC(), nil
}

// packages makes the packages of all architectures in a folder.
func (j *job) packages(out string) (made []string, err error) {
	native := runtime.GOARCH
	for _, arch := range append(slices.Clone(arches), native) {
		if err := j.build(arch); err != nil {
			return nil, err
		}
	}
	if err := j.pages(native); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	for _, arch := range arches {
		for _, format := range []string{"deb", "rpm"} {
			p, err := j.pack(arch, format, out)
			if err != nil {
				return made, err
			}
			made = append(made, p)
		}
		p, err := j.tarball(arch, out)
		if err != nil {
			return made, err
		}
		made = append(made, p)
	}
	sums, err := sumUp(made, out)
	return append(made, sums), err
}

// makeAgents makes what lies beside a program of a checkout: the programs for all other
// architectures, and the list that says of which build they are. bin is the folder above it.
func (j *job) makeAgents(dir string) error {
	native := runtime.GOARCH
	for _, arch := range arches {
		if arch == native {
			continue
		}
		if err := j.build(arch); err != nil {
			return err
		}
		for _, p := range carried {
			if err := copyFile(j.binary(arch, p), filepath.Join(dir, "linux-"+arch, p), 0o755); err != nil {
				return err
			}
		}
	}
	// The program that looks for them is the one that make build has made.
	for _, p := range carried {
		if err := copyFile(filepath.Join(filepath.Dir(dir), p), j.binary(native, p), 0o755); err != nil {
			return err
		}
	}
	sums, err := j.sums()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), sums, 0o644)
}
