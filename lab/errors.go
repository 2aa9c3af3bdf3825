// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"fmt"
)

// Exit statuses of Exec that are not the guest command's own. They follow
// timeout(1) and the container runtimes.
const (
	exitUsage   = 2   // what was asked for does not exist, such as a kernel; nothing was run
	ExitTimeout = 124 // the time limit ended the command
	ExitTrouble = 125 // the lab could not be built or booted, or the guest kernel complained
	exitNotExec = 126 // the command was found but could not be run in the guest
	exitNotFind = 127 // the command does not exist
)

// Error is a failure of the lab itself, never of the command run in it.
type Error struct {
	Op  string // what was being done: "resolve kernel sid"
	Err error  // why it failed, with the errno where there is one
	Fix string // what the user can do about it; may be empty
}

func (e *Error) Error() string {
	s := fmt.Sprintf("lab: %s: %v", e.Op, e.Err)
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// errorf builds an Error whose cause is formatted as by fmt.Errorf.
func errorf(op, fix, format string, args ...any) *Error {
	return &Error{Op: op, Err: fmt.Errorf(format, args...), Fix: fix}
}

// inputError says that what was asked for is wrong, not the lab.
type inputError struct{ err *Error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// inputf formats an error as errorf does, and marks it as wrong input.
func inputf(op, fix, format string, args ...any) error {
	return &inputError{errorf(op, fix, format, args...)}
}

// ExitOf returns the exit status for an error of the lab.
func ExitOf(err error) int {
	var input *inputError
	switch {
	case errors.Is(err, errSlow):
		return ExitTimeout
	case errors.As(err, &input):
		return exitUsage
	}
	return ExitTrouble
}

// exitOfCommand returns the exit status for a guest command that could not be had.
func exitOfCommand(err error) int {
	var missing *notFoundError
	var refused *notExecError
	switch {
	case errors.As(err, &missing):
		return exitNotFind
	case errors.As(err, &refused):
		return exitNotExec
	}
	return ExitTrouble
}

// wrap keeps an *Error as it is and gives any other error an operation.
func wrap(op string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Op: op, Err: err}
}
