// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command is the program to run in the guest and what has to travel with it.
type command struct {
	args    []string
	carry   string   // host path of the program; empty when the guest has it
	returns []string // absolute paths of files it writes that must come back
}

// testFlags are the flags by which go test tells a test binary to write a
// file or, for outputdir and gocoverdir, files into a folder.
var testFlags = map[string]bool{
	"blockprofile": true, "coverprofile": true, "cpuprofile": true, "gocoverdir": true, "memprofile": true,
	"mutexprofile": true, "outputdir": true, "trace": true,
}

// newCommand looks up args[0] on the host, as a shell would. A program that is
// nowhere on the host may still be in the guest (zcbench is).
func newCommand(args []string, self, dir string) (*command, error) {
	c := &command{}
	p, err := exec.LookPath(args[0])
	switch {
	case err == nil || errors.Is(err, exec.ErrDot):
		if p, err = filepath.Abs(p); err != nil {
			return nil, err
		}
		if err := checkStatic(p); err != nil {
			fix := "pass a static x86-64 program"
			if errors.Is(err, errDynamic) {
				fix = "build it with CGO_ENABLED=0, or link it with -static: the guest has no libraries"
			}
			return nil, &notExecError{&Error{"check " + args[0], err, fix}}
		}
		if !sameFile(p, self) {
			c.carry = p
		} else {
			p = "/init"
		}
	case args[0] == "zcbench":
		p = "/init"
	case !missing(err):
		return nil, &notExecError{&Error{"look up " + args[0], err,
			"name a static x86-64 program; chmod +x makes a file one"}}
	default:
		return nil, &notFoundError{args[0], err}
	}
	c.args = append(c.args, p)
	for _, a := range args[1:] {
		c.addArg(a, dir)
	}
	return c, nil
}

// addArg passes an argument on. Of go test's flags it drops the one that
// would make go test cache a result which depends on more than the test, and
// notes the files that others name.
func (c *command) addArg(arg, dir string) {
	name, value, ok := strings.Cut(arg, "=")
	if name == "-test.testlogfile" {
		return
	}
	c.args = append(c.args, arg)
	flag, isTest := strings.CutPrefix(name, "-test.")
	if !ok || !isTest || !testFlags[flag] {
		return
	}
	if !filepath.IsAbs(value) {
		value = filepath.Join(dir, value)
	}
	c.returns = append(c.returns, value)
}

// notFoundError is the shells' exit status 127.
type notFoundError struct {
	name string
	err  error
}

func (e *notFoundError) Error() string { return "lab: " + e.name + ": " + e.err.Error() }
func (e *notFoundError) Unwrap() error { return e.err }

// missing reports whether a look-up found nothing, by its error. A file without permission, or a
// folder, is not missing.
func missing(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// notExecError is the shells' exit status 126: the program is there, and the guest cannot run it.
type notExecError struct{ err *Error }

func (e *notExecError) Error() string { return e.err.Error() }
func (e *notExecError) Unwrap() error { return e.err }

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// handedOn are the host's variables that the guest's command gets: what steers a Go
// program, and what this project's tests look at. No others: those of zcbench hold
// passwords of meters.
var handedOn = map[string]bool{
	"GODEBUG": true, "GOGC": true, "GOMAXPROCS": true, "GOMEMLIMIT": true, "GOTRACEBACK": true, "TZ": true,
	"ZCBENCH_LEASE_KILLS": true, "ZCBENCH_LEASE_SEED": true, "ZCBENCH_TEST_LONG": true,
}

// guestEnv builds the environment of the guest's command.
func guestEnv(extra []string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); handedOn[name] {
			env = append(env, kv)
		}
	}
	return append(env, extra...)
}
