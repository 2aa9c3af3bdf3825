// SPDX-License-Identifier: MIT

// Package program runs programs inside network namespaces, for comparisons of ours with
// others', and watches them by what the kernel says, whatever they print.
package program

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/zcbench/zcbench/machine/veth"
)

// Program is a command that was started.
type Program struct {
	Cmd   *exec.Cmd
	Ended chan struct{} // closed when it has ended
	err   error
}

// Start starts a command inside a namespace. What before sets for the calling thread,
// such as CPUs and priority, the command inherits. It gets a session of its own: Ctrl-C
// at the terminal does not reach it, the scheduler's autogroup holds it alone, and
// [Program.Kill] ends what it starts too. It does not outlive us.
func Start(ns *veth.Netns, cmd *exec.Cmd, before func() error) (*Program, error) {
	p := &Program{Cmd: cmd, Ended: make(chan struct{})}
	// Pdeathsig is sent when the forking thread ends, which is why that thread waits.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		if err := ns.Do(func() error {
			if err := before(); err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			started <- nil
			p.err = cmd.Wait()
			close(p.Ended)
			return nil
		}); err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Args[0], err)
	}
	return p, nil
}

// Wait waits for the program to end. Its exit status is no error here: what it wrote
// says more.
func (p *Program) Wait() error {
	<-p.Ended
	if e := (*exec.ExitError)(nil); errors.As(p.err, &e) && e.Exited() {
		return nil
	}
	return p.err
}

// HasEnded reports whether the program has ended.
func (p *Program) HasEnded() bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

// Kill ends the program and what it started, and waits for it.
func (p *Program) Kill() {
	syscall.Kill(-p.Cmd.Process.Pid, syscall.SIGKILL)
	<-p.Ended
}
