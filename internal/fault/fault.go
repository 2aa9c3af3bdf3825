// SPDX-License-Identifier: MIT

// Package fault has errors that say what to do about them. Whatever fails in zcbench names the
// operation, the errno, the kernel's own words and the fix; an error with knowledge of its own
// is a type where it is made, with a method Fix.
package fault

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Error is a failed operation with what to do about it.
type Error struct {
	Op  string // what was attempted, and on what
	Err error  // most often an errno; nil where Op says it all
	Ack string // the kernel's own words: netlink's extended acknowledgement; mostly empty
	How string // the fix; empty where nothing is known

	Peer bool // the cause lies at the other end of the flow
}

func (e *Error) Error() string {
	s := e.Op
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if errno, ok := e.Err.(unix.Errno); ok {
		s += " (" + ErrnoName(errno) + ")"
	}
	if e.Ack != "" {
		s += ": " + e.Ack
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Fix advises what the user can do about it.
func (e *Error) Fix() string { return e.How }

// ErrnoName returns an errno's name. Of the two that 95 has, the kernel's network code uses
// EOPNOTSUPP. A number without a name is "errno N".
func ErrnoName(e unix.Errno) string {
	if e == unix.EOPNOTSUPP {
		return "EOPNOTSUPP"
	}
	if e == 524 { // the kernel's own, which eBPF lets out
		return "ENOTSUPP"
	}
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}

// Unsupported says that a mode cannot run on this host: which call refused, and what to do
// about it.
type Unsupported struct {
	Mode string
	Op   string // the call or check that refused
	Err  error  // its errno
	How  string // the fix

	// Blocked: no feature is missing. What was asked for, or the state of the host, is in the way,
	// and the fix is all that it takes.
	Blocked bool
}

// IsBlocked reports whether err is an [Unsupported] of a mode that lacks nothing here.
func IsBlocked(err error) bool {
	var u *Unsupported
	return errors.As(err, &u) && u.Blocked
}

func (e *Unsupported) Error() string { return e.Mode + " is not supported here: " + e.Reason() }

// Reason words the error without the mode's name, for where that is said already.
func (e *Unsupported) Reason() string {
	if e.Err == nil {
		return e.Op
	}
	why := e.Err.Error()
	if strings.HasPrefix(why, e.Op+": ") {
		return why // it names the operation itself
	}
	if errno, ok := e.Err.(unix.Errno); ok {
		why += " (" + ErrnoName(errno) + ")"
	}
	return e.Op + ": " + why
}

func (e *Unsupported) Unwrap() error { return e.Err }

// Fix advises what the user can do about it.
func (e *Unsupported) Fix() string { return e.How }

// BlamesPeer reports whether err only says that the other end broke off.
func BlamesPeer(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Peer
}

// Reason returns err's text; of a mode that is not supported, without its name, which stands beside
// every reason.
//
// Of joined errors, such as a refusal and what could not be taken back after it, it says all.
func Reason(err error) string {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var texts, reasons []string
		for _, e := range all.Unwrap() {
			texts, reasons = append(texts, e.Error()), append(reasons, Reason(e))
		}
		if strings.Join(texts, "\n") == err.Error() { // it has no words of its own
			return strings.Join(reasons, "\n")
		}
	}
	var u *Unsupported
	if errors.As(err, &u) {
		return u.Reason()
	}
	return err.Error()
}

// Fix returns the fix that any error in err's chain knows, or "".
func Fix(err error) string {
	var f interface {
		error
		Fix() string
	}
	if errors.As(err, &f) {
		return f.Fix()
	}
	return ""
}
