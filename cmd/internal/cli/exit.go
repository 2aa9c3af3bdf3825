// SPDX-License-Identifier: MIT

// Package cli is what the commands share: exit statuses, error printing and the
// flags of one end of a flow.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/hugepages"
	"github.com/zcbench/zcbench/internal/interrupt"
	"github.com/zcbench/zcbench/machine/lease"
)

// The exit statuses of all commands.
const (
	done   = 0 // did what was asked
	Failed = 1 // a run failed or is invalid
	Usage  = 2 // wrong usage or input
)

// StatusError ends a command with a status. Err may be nil when everything has
// been said already.
type StatusError struct {
	Status int
	Err    error
}

func (e *StatusError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

func (e *StatusError) Unwrap() error { return e.Err }

// UsageError marks an error as wrong usage or input.
func UsageError(err error) error { return &StatusError{Usage, err} }

// Usagef formats a message and marks it as [UsageError] does.
func Usagef(format string, args ...any) error { return UsageError(fmt.Errorf(format, args...)) }

// Quiet ends with a status after everything has been said.
func Quiet(status int) error { return &StatusError{status, nil} }

// Main runs a command and returns the process's exit status. The first SIGINT,
// SIGTERM or SIGHUP ends the command's context, a second one the process; those that the
// process was started to ignore do neither. Standard output that could not be written
// is a failure, whatever the command made of it.
func Main(cmd *cobra.Command, args []string) int { return run(cmd, args, os.Stdout, os.Stderr) }

func run(cmd *cobra.Command, args []string, stdout, stderr *os.File) int {
	defer lease.OnPanic()
	calmCollector()
	interrupt.OutlivePipes()
	ctx, stop := interrupt.Context(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	context.AfterFunc(ctx, hugepages.GiveUp)
	out, errs := newOutput(stdout), newOutput(stderr)
	context.AfterFunc(ctx, out.leave)
	context.AfterFunc(ctx, errs.leave)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	setHelp(cmd)
	cmd.InitDefaultCompletionCmd() // else it comes when the commands are watched already
	var began bool
	watch(cmd, &began)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usagef("%w%s\nsee: %s --help", plainly(err, c), didYouMean(c, err), c.CommandPath())
	})
	ran, err := cmd.ExecuteContextC(ctx)
	if err != nil && !began && !errors.Is(err, out.raw.first()) { // --version may be lost
		err = refused(err, ran)
	}
	status := report(err, cmd.Name(), errs)
	if lost := out.close(); lost != nil {
		if !errors.Is(err, lost) {
			report(lost, cmd.Name(), errs)
		}
		status = max(status, Failed)
	}
	errs.flush()
	return status
}

// watch sets began when a command of the tree begins: when its RunE is called, since
// a PreRunE comes before cobra's last checks and looks at the command line too.
func watch(c *cobra.Command, began *bool) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			*began = true
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		watch(sub, began)
	}
}

// refused makes a usage error of the error of a command that did not begin: the command line is at
// fault, whatever the error's text and type.
func refused(err error, ran *cobra.Command) error {
	if s := (*StatusError)(nil); errors.As(err, &s) {
		return err
	}
	return Usagef("%w%s\nusage: %s\nsee: %s --help", plainly(err, ran), nearCommands(ran), ran.UseLine(),
		ran.CommandPath())
}

// wrongInput is an error that is the caller's mistake. Packages below, which the
// small programs do not link, mark theirs by this method.
type wrongInput interface {
	error
	WrongInput() bool
}

// report prints what went wrong in the program name, and returns the exit status.
func report(err error, name string, stderr io.Writer) int {
	if err == nil {
		return done
	}
	status := Failed
	if w := (wrongInput)(nil); errors.As(err, &w) && w.WrongInput() {
		status = Usage
	}
	if s := (*StatusError)(nil); errors.As(err, &s) { // the command knows whom it speaks to
		if status = s.Status; s.Err == nil {
			return status
		}
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if fix := fault.Fix(err); fix != "" {
		fmt.Fprintf(stderr, "  fix: %s\n", fix)
	}
	return status
}
