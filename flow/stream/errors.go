package stream

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Unsupported says that a mode cannot run on this host: which call refused, and
// what to do about it.
type Unsupported struct {
	Mode string
	Op   string // the call or check that refused
	Err  error  // its errno
	How  string // the fix
}

func (e *Unsupported) Error() string { return e.Mode + " is not supported here: " + e.Reason() }

// Reason is the error without the mode's name, for where that is said already.
func (e *Unsupported) Reason() string {
	if e.Err == nil {
		return e.Op
	}
	why := e.Err.Error()
	if strings.HasPrefix(why, e.Op+": ") {
		return why // it names the operation itself
	}
	return e.Op + ": " + why
}

func (e *Unsupported) Unwrap() error { return e.Err }

// Fix says what the user can do about it.
func (e *Unsupported) Fix() string { return e.How }

// Error is a failed operation with what to do about it.
type Error struct {
	Op   string
	Err  error
	How  string
	Peer bool // the cause lies at the other end
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Op
	}
	return e.Op + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Fix says what the user can do about it.
func (e *Error) Fix() string { return e.How }

// BlamesPeer reports whether err only says that the other end, or whoever called
// the run off, ended the flow.
func BlamesPeer(err error) bool {
	var e *Error
	return errors.Is(err, ErrAborted) || errors.As(err, &e) && e.Peer
}

// ReasonOf is err's text; of a mode that is not supported, without its name,
// which stands beside every reason.
//
// Of joined errors, such as a refusal and what could not be taken back after it,
// all are said.
func ReasonOf(err error) string {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var texts, reasons []string
		for _, e := range all.Unwrap() {
			texts, reasons = append(texts, e.Error()), append(reasons, ReasonOf(e))
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

// FixOf returns the fix that any error in err's chain knows, or "".
func FixOf(err error) string {
	var f interface {
		error
		Fix() string
	}
	if errors.As(err, &f) {
		return f.Fix()
	}
	return ""
}

// ReceiveError names what a failed receive call on c means.
func ReceiveError(c *Conn, op string, err error) error {
	return flowError(c, op, err, "sender")
}

// SendError names what a failed send call on c means.
func SendError(c *Conn, op string, err error) error {
	return flowError(c, op, err, "receiver")
}

func flowError(c *Conn, op string, err error, peer string) error {
	if aborted := c.Aborted(); aborted != nil {
		return aborted
	}
	how, broke := "", errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
	switch {
	case broke:
		how = "the " + peer + " broke off: its own message says why"
	case errors.Is(err, unix.ETIMEDOUT):
		how = "the " + peer + "'s host no longer answers: check link and host"
	}
	return &Error{Op: op, Err: err, How: how, Peer: broke}
}
