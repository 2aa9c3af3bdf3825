package nic

import (
	"errors"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Error is a request that kernel or driver refused, with what to do about it.
type Error struct {
	Op  string // what was attempted, with the interface's name
	Err error  // the errno
	Why string // the kernel's own text (extended acknowledgement); mostly empty
	How string // the fix; empty where nothing is known
}

func (e *Error) Error() string {
	s := e.Op + ": " + e.Err.Error()
	if errno, ok := e.Err.(unix.Errno); ok {
		s += " (" + ErrnoName(errno) + ")"
	}
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// ErrnoName is an errno's name. Of the two that 95 has, the kernel's network code
// uses EOPNOTSUPP.
func ErrnoName(e unix.Errno) string {
	if e == unix.EOPNOTSUPP {
		return "EOPNOTSUPP"
	}
	return unix.ErrnoName(e)
}

func (e *Error) Unwrap() error { return e.Err }

// Fix says what the user can do about it.
func (e *Error) Fix() string { return e.How }

// failed makes an Error; how is by errno, with 0 for any other.
func failed(op string, err error, how map[unix.Errno]string) error {
	e := &Error{Op: op, Err: err}
	var nl *netlink.OpError
	if errors.As(err, &nl) {
		e.Err, e.Why = nl.Err, nl.Message
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		e.Err = errno
	}
	switch text, ok := how[errno]; {
	case ok:
		e.How = text
	case errno == unix.EPERM:
		e.How = "run as root or with CAP_NET_ADMIN"
	case errno == unix.ENODEV:
		e.How = "no such interface in this network namespace: ip link shows them"
	default:
		e.How = how[0]
	}
	return e
}
