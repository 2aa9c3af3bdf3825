// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/program"
)

// process is one end of a flow, running inside a namespace.
type process struct {
	*program.Program
	stdout, stderr kept
}

// maxOutput is how much of what a process writes is kept: an answer is some kilobytes.
const maxOutput = 1 << 20

// kept is the beginning of what a process writes; the rest is thrown away. It may be read while
// the process runs.
type kept struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.b.Write(p[:min(len(p), maxOutput-k.b.Len())])
	return len(p), nil
}

// Bytes returns a copy of what was kept so far.
func (k *kept) Bytes() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.b.Bytes())
}

// askedFor is how long a process may take to end that was asked to.
var askedFor = 2 * time.Second // tests have more patience

// startIn starts a command line inside ns, on the CPUs, where any are named. Ending ctx ends
// the process: asked first, killed after [askedFor].
func startIn(ctx context.Context, ns *veth.Netns, nice int, cpus []int, line []string) (p *process, err error) {
	p = &process{}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGCONT) // one that is stopped hears it, too
		return err
	}
	cmd.WaitDelay = askedFor
	if p.Program, err = program.Start(ns, cmd,
		func() error { return errors.Join(favour(nice), confine(cpus)) }); err != nil {
		return nil, err
	}
	favourGroup(cmd.Process.Pid, nice)
	return p, nil
}

// signal sends a signal to the process and what it started: they are a session of their own.
func (p *process) signal(sig unix.Signal) error { return unix.Kill(-p.Cmd.Process.Pid, sig) }

// favour sets the nice value of the calling thread: an end of a flow is to run
// when it can, whatever else the machine does.
func favour(nice int) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice); err != nil {
		return fmt.Errorf("set nice value %d: %w", nice, err)
	}
	return nil
}

// confine leaves the calling thread these CPUs; nil leaves it what it has.
func confine(cpus []int) error {
	if cpus == nil {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("confine it to CPU %s: %w", counter.FormatCPUList(cpus), err)
	}
	return nil
}

// favourGroup sets the nice value of the process's autogroup, without which its
// own would only count among the processes of its session (sched(7)). A kernel
// without autogroups has no such file, and needs none.
func favourGroup(pid, nice int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), fmt.Append(nil, nice), 0)
}

// cpu returns the CPU time of the whole process, user and system, from its start to its end. It is
// known after Wait.
func (p *process) cpu() time.Duration {
	return p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()
}

// says returns what the process wrote to stderr, for an error message.
func (p *process) says() string {
	return plaintext.Line(strings.TrimSpace(string(p.stderr.Bytes())))
}

// listensLimit is how long a process may take until it listens.
var listensLimit = 5 * time.Second // tests have more patience

// listening waits until the process's namespace has a listener on port.
func (p *process) listening(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, listensLimit)
	defer cancel()
	for !p.Listens(port) {
		select {
		case <-p.Ended:
			return errors.New("it ended before it listened")
		case <-ctx.Done():
			return fmt.Errorf("it does not listen on port %d: %w", port, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
