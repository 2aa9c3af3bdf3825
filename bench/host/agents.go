// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/trust"
)

// agentsDirs are where a build keeps its programs for other machines, as seen from the folder
// that its own is in: in a checkout, and in a package. In them is linux-ARCH/zcbench.
var agentsDirs = []string{"agents", "../lib/zcbench/agents"}

// sumsFile, in such a folder, lists the programs of one build, its own among them, as
// sha256sum(1) does. tools/packages writes it.
const sumsFile = "SHA256SUMS"

// maxSums is how long that may be, bytes.
const maxSums = 64 << 10

// getAgents is what to do where they are not.
const getAgents = "install the package zcbench, which has both (make package), or in a checkout: make build agents"

// onMachine finds the program of the same build for another machine, by the name that uname -m
// gives that machine.
func (p program) onMachine(machine string) (program, error) {
	arch := ""
	for a, m := range machines {
		if m == machine {
			arch = a
		}
	}
	differ := fmt.Sprintf("it is Linux/%s, and this zcbench is built for Linux/%s", machine, p.machine)
	if arch == "" {
		return p, &fault.Error{Op: differ, How: "start zcbench from a machine like it"}
	}
	other := p
	other.machine = machine
	if err := other.find(p, filepath.Join("linux-"+arch, p.name)); err != nil {
		e := &fault.Error{Op: differ + "; its program for linux/" + arch + " is not to be had", Err: err,
			How: fault.Fix(err)}
		if e.How == "" {
			e.How = getAgents
		}
		return p, e
	}
	other.home = other.sum
	return other, nil
}

// beside finds the helper that lies beside this program, which is another machine's, as name lies
// beside own.
func (p program) beside(own program, name string) (program, error) {
	helper := p
	helper.name = name
	err := helper.find(own, filepath.Join(filepath.Base(filepath.Dir(p.path)), name))
	return helper, err
}

// find looks for a file among the agents of the build of own, and verifies it.
func (p *program) find(own program, name string) error {
	dir, err := agentsOf(own.path)
	if err != nil {
		return err
	}
	f, err := openOurs(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	sums, err := parseSums(io.LimitReader(f, maxSums+1))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	var its string
	same := false
	for _, s := range sums {
		same = same || s.sum == own.sum
		if s.name == name {
			its = s.sum
		}
	}
	if !same {
		return &fault.Error{Op: fmt.Sprintf("%s is of another build than %s", f.Name(), own.path), How: getAgents}
	}
	if its == "" {
		return &fault.Error{Op: fmt.Sprintf("%s has no %s", f.Name(), name), How: getAgents}
	}
	g, err := openOurs(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer g.Close()
	p.path = g.Name()
	if p.sum, err = sumOf(g); err != nil {
		return err
	}
	if p.sum != its {
		return &fault.Error{Op: fmt.Sprintf("%s is not the one of this build: its SHA-256 is not that of %s", g.Name(),
			f.Name()), How: getAgents}
	}
	return nil
}

// agentsOf finds the folder of the agents of the build that bin belongs to.
func agentsOf(bin string) (string, error) {
	real, err := filepath.EvalSymlinks(bin)
	if err != nil {
		return "", err
	}
	var tried []string
	for _, d := range agentsDirs {
		dir := filepath.Join(filepath.Dir(real), d)
		if _, err := os.Stat(filepath.Join(dir, sumsFile)); err == nil {
			return dir, nil
		}
		tried = append(tried, dir)
	}
	return "", &fault.Error{Op: "no " + sumsFile + " in " + strings.Join(tried, " or "), How: getAgents}
}

// openOurs opens a file that nobody but root and this user can have put there.
func openOurs(path string) (*os.File, error) {
	f, err := trust.Open(path, os.O_RDONLY)
	if foreign := (*trust.Error)(nil); errors.As(err, &foreign) {
		return nil, &fault.Error{Op: "it could have been put there by another user: " + foreign.Error(),
			How: foreign.Fix()}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Op: path + " is not there", How: getAgents}
	}
	return f, err
}

// fileSum is a line of sha256sum(1).
type fileSum struct{ sum, name string }

var sumLine = lazy.Regexp(`^([0-9a-f]{64})  ([a-z0-9]+(?:[-/][a-z0-9]+)*)$`)

// parseSums reads what sha256sum(1) prints of files whose names are plain.
func parseSums(r io.Reader) (sums []fileSum, err error) {
	b, err := io.ReadAll(r)
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxSums:
		return nil, fmt.Errorf("longer than %d bytes", maxSums)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		m := sumLine().FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("line %d: %q is no SHA-256 and name", n, strings.TrimSuffix(line, "\n"))
		}
		for _, s := range sums {
			if s.name == m[2] {
				return nil, fmt.Errorf("line %d: %s is there twice", n, m[2])
			}
		}
		sums = append(sums, fileSum{m[1], m[2]})
	}
	return sums, nil
}
