// SPDX-License-Identifier: MIT

// Package built makes the commands for tests that run them as a user does.
package built

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/waiting"
)

var commands struct {
	sync.Once
	dir string
	err error
}

// Main runs a package's tests and removes what was built for them. Tests that wait
// for commands, and are parallel, run beside each other, also where CPUs are few.
func Main(m *testing.M) int {
	defer func() { os.RemoveAll(commands.dir) }()
	if err := waiting.Tests(6); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	hear(syscall.SIGINT, syscall.SIGHUP)
	return m.Run()
}

// hear lets commands that tests start hear signals that this process was told to
// ignore, as a shell tells what it starts with &: a signal that is heard here is as
// usual there.
func hear(signals ...os.Signal) {
	for _, s := range signals {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// Dir builds zcbench, zcrecv and zcsend once per test process, static as in a release, and returns
// their folder.
func Dir(t testing.TB) string {
	t.Helper()
	commands.Do(func() { commands.dir, commands.err = build() })
	if commands.err != nil {
		t.Fatal(commands.err)
	}
	return commands.dir
}

// ForAll copies a command to a folder of its own that every user may read, which goes with the
// test.
func ForAll(t testing.TB, name string) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "zcbench-for-all-") // folders of the test itself are root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary, err := os.ReadFile(filepath.Join(Dir(t), name))
	path = filepath.Join(dir, name)
	if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(path, binary, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

func build() (string, error) {
	dir, err := os.MkdirTemp("", "zcbench-test-")
	if err != nil {
		return "", err
	}
	const module = "github.com/zcbench/zcbench/cmd/"
	args, link := []string{"build"}, "-s -w"              // as a release
	if slices.Contains(uring.Engines(), uring.Giouring) { // as this test is, and the release
		args, link = append(args, "-tags", "giouring"), link+" -checklinkname=0"
	}
	args = append(args, "-ldflags", link)
	cmd := exec.Command("go", append(args, "-o", dir+"/", module+"zcbench", module+"zcrecv", module+"zcsend")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return dir, nil
}

// Process is a command under way.
type Process struct {
	*exec.Cmd
	Out, Err bytes.Buffer // not to be read before Wait

	t    testing.TB
	done chan struct{}
}

// Busy are the flags of run and demo on a machine that has other work: tests run beside others,
// and a run that these spoil is neither made again nor invalid for their load.
var Busy = []string{"--gate", "foreign_cores=off", "--gate", "throttled=off", "--gate", "replace=0"}

// Start starts a command, run and demo with [Busy] unless they have gates of their own. The
// test's end kills it.
func Start(t testing.TB, name string, args ...string) *Process {
	t.Helper()
	if len(args) > 0 && (args[0] == "run" || args[0] == "demo") && !slices.Contains(args, "--gate") {
		args = append(slices.Clip(args), Busy...)
	}
	return StartCommand(t, exec.Command(filepath.Join(Dir(t), name), args...))
}

// Shell starts a line of /bin/sh that may name our commands, with its words as $1, $2...
func Shell(t testing.TB, line string, words ...string) *Process {
	t.Helper()
	return StartCommand(t, ShellCommand(t, line, words...))
}

// ShellCommand builds the command that [Shell] starts.
func ShellCommand(t testing.TB, line string, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", line, "sh"}, words...)...)
	cmd.Env = append(os.Environ(), "PATH="+Dir(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// StartCommand starts cmd in a folder of its own. Where it has no files for its output,
// that is kept. The test's end kills it.
func StartCommand(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, t: t, done: make(chan struct{})}
	if p.Dir == "" {
		p.Dir = t.TempDir()
	}
	if p.Stdout == nil {
		p.Stdout = &p.Out
	}
	if p.Stderr == nil {
		p.Stderr = &p.Err
	}
	p.WaitDelay = 2 * time.Second
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		if err := p.Cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			fmt.Fprintln(&p.Err, err)
		}
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		<-p.done
	})
	return p
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Wait waits for the end and returns the exit status; -1 is a signal. A command that takes the
// limit, and await.Hang at the least, hangs.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	limit = max(limit, await.Hang)
	select {
	case <-p.done:
		return p.ProcessState.ExitCode()
	case <-time.After(limit):
		p.Process.Signal(syscall.SIGQUIT) // says where it hangs
		select {
		case <-p.done:
		case <-time.After(2 * time.Second):
			p.Process.Kill()
			<-p.done
		}
		p.t.Fatalf("%v did not end within %v\nstdout: %s\nstderr: %s", p.Args, limit, &p.Out, &p.Err)
	}
	panic("unreachable")
}
