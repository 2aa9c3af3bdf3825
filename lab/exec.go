// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
)

// Exec runs one command in a guest and returns the command's exit status: in the
// machine that [Up] keeps, where this process has been started by its command and
// nothing is asked for that the machine is not, else in one that is booted for it and
// gone when Exec returns. An error means that the lab, not the command, failed; the
// status is then one of the Exit constants.
func Exec(ctx context.Context, o ExecOptions) (exit int, err error) {
	if err := o.defaults(); err != nil {
		return ExitOf(err), wrap("start", err)
	}
	r, err := newRequest(&o)
	if err != nil {
		return exitOfCommand(err), wrap("prepare the command", err)
	}
	defer r.close()
	up, err := findUp(&o)
	if err != nil {
		return ExitTrouble, err
	}
	if up != nil {
		defer up.close()
		return up.run(ctx, r).result()
	}
	p, err := newPlan(ctx, o.MachineOptions, o.Log)
	if err != nil {
		return ExitOf(err), wrap("prepare the guest", err)
	}
	defer p.close()
	m, err := p.start(ctx, o.Log)
	if err != nil {
		return ExitOf(err), err
	}
	defer m.close()
	out := m.run(ctx, r)
	if m.resumed && out.spoiled != "" && ctx.Err() == nil {
		os.Remove(p.kept.path()) // the fault may have been in it
	}
	return out.result()
}

// request is one command for a machine, and where what it brings goes.
type request struct {
	job     guest.Job
	timeout time.Duration
	send    func(io.Writer) error // writes the archive of its files
	receive func(io.Reader) error // takes the archive of the files that come back

	stdout, stderr, log io.Writer
	hurry               func() // the machine is gone: let no writer wait long; may be nil

	cargo *cargo
}

// newRequest looks up the command and what has to travel with it.
func newRequest(o *ExecOptions) (*request, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cmd, err := newCommand(o.Args, o.Init, dir)
	if err != nil {
		return nil, err
	}
	c, err := loadCargo(cmd, dir, o.Files)
	if err != nil {
		return nil, err
	}
	return &request{
		job:     guest.Job{Args: cmd.args, Dir: dir, Env: guestEnv(o.Env), Returns: cmd.returns, Module: o.module()},
		timeout: o.Timeout,
		send:    c.write,
		receive: func(r io.Reader) error { return receiveTar(r, o.Out, cmd.returns) },
		stdout:  o.Stdout, stderr: o.Stderr, log: o.Log,
		cargo: c,
	}, nil
}

func (r *request) close() { r.cargo.close() }

// outcome is how a request went.
type outcome struct {
	exit int
	err  error // of the lab
	// spoiled says why the machine must not be used again.
	spoiled string
}

func (o outcome) result() (int, error) { return o.exit, o.err }

// judge turns what came back into an outcome. Err is what made an end of the machine.
func judge(r *request, res *guest.Result, gone error) outcome {
	spoil := func(exit int, err *Error, why string) outcome { return outcome{exit, err, why} }
	name := r.name()
	switch {
	case res == nil:
		why := gone.Error()
		return spoil(ExitOf(gone), &Error{"run " + name, gone, "see the kernel messages above"}, why)
	case res.NotFound && len(res.Complaints) == 0:
		return outcome{exit: exitNotFind, err: errorf("run "+name, "", "%s", res.Err)}
	case res.NotExec && len(res.Complaints) == 0:
		return outcome{exit: exitNotExec, err: errorf("run "+name, "", "%s", res.Err)}
	case res.TimedOut:
		return spoil(ExitTimeout, errorf("run "+name, "allow more with --timeout", "still running after %v", r.timeout),
			"time limit reached")
	case len(res.Complaints) > 0:
		return spoil(ExitTrouble, errorf("check the guest's kernel after "+name,
			fmt.Sprintf("the command itself exited with %d", res.Exit),
			"%d complaints, the first: %s", len(res.Complaints), res.Complaints[0]), "the kernel complained")
	case res.Err != "":
		return spoil(ExitTrouble, errorf("run "+name, "", "%s", res.Err), res.Err)
	}
	return outcome{exit: res.Exit}
}

// name names the command for messages.
func (r *request) name() string {
	if r.job.N > 1 {
		return fmt.Sprintf("%s (command %d of this machine)", r.job.Args[0], r.job.N)
	}
	return r.job.Args[0]
}
