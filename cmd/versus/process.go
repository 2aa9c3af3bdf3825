package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/listening"
	"github.com/zcbench/zcbench/machine/veth"
)

// process is one end of a flow, running inside a namespace.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan error // Wait's answer
}

// startIn starts a command line inside ns. Ending ctx ends the process: asked
// first, killed after two seconds.
func startIn(ctx context.Context, ns *veth.Netns, nice int, line []string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, line[0], line[1:]...), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 2 * time.Second
	// A session of its own: Ctrl-C at the terminal reaches it through ctx only,
	// and the scheduler's autogroup, which goes by sessions, holds it alone.
	// Pdeathsig is sent when the forking thread ends, which is why that thread
	// waits for the process: a killed versus leaves nothing behind.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		err := ns.Do(func() error {
			err := favour(nice)
			if err == nil {
				err = p.cmd.Start() // inherits the thread's priority
			}
			if err == nil {
				favourGroup(p.cmd.Process.Pid, nice)
			}
			started <- err
			if err == nil {
				p.done <- p.cmd.Wait()
			}
			return nil
		})
		if err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", line[0], err)
	}
	return p, nil
}

// favour sets the nice value of the calling thread: an end of a flow is to run
// when it can, whatever else the machine does.
func favour(nice int) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice); err != nil {
		return fmt.Errorf("set nice value %d: %w", nice, err)
	}
	return nil
}

// favourGroup sets the nice value of the process's autogroup, without which its
// own would only count among the processes of its session (sched(7)). A kernel
// without autogroups has no such file, and needs none.
func favourGroup(pid, nice int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), fmt.Append(nil, nice), 0)
}

// wait waits for the process to end. Its exit status is no error here: what it
// wrote says more.
func (p *process) wait() error {
	err := <-p.done
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && e.Exited() {
		return nil
	}
	return err
}

// cpu is the CPU time of the whole process, user and system, from its start to
// its end. It is known after wait.
func (p *process) cpu() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// says is what the process wrote to stderr, for an error message.
func (p *process) says() string {
	return strings.TrimSpace(p.stderr.String())
}

// listening waits until the process's namespace has a listener on port.
func (p *process) listening(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		if listening.On(p.cmd.Process.Pid, port) {
			return nil
		}
		select {
		case err := <-p.done:
			p.done <- err
			return errors.New("it ended before it listened")
		case <-ctx.Done():
			return fmt.Errorf("it does not listen on port %d: %w", port, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}
