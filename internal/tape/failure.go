// SPDX-License-Identifier: MIT

package tape

import (
	"errors"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Failure is an error as a record has it. Of errors that know more than their text, so much
// is kept that what explains them explains the record's in the same way.
type Failure struct {
	// "error" and "unsupported": of package fault; "netlink"; "": text and errno alone
	Kind  string   `json:"kind,omitempty"`
	Mode  string   `json:"mode,omitempty"`  // of unsupported
	Op    string   `json:"op,omitempty"`    // what was attempted
	Ack   string   `json:"ack,omitempty"`   // the kernel's own words
	How   string   `json:"how,omitempty"`   // the fix
	Text  string   `json:"text,omitempty"`  // of any other error
	Errno int      `json:"errno,omitempty"` // that it is, or wraps
	Inner *Failure `json:"inner,omitempty"` // of error and unsupported: what is behind it
}

// mostInner bounds how deep failures lie in each other.
const mostInner = 8

func failureOf(err error) *Failure { return failureIn(err, 0) }

func failureIn(err error, depth int) *Failure {
	if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) == 1 && depth < mostInner {
		return failureIn(all.Unwrap()[0], depth+1) // joined with nothing
	}
	var nl *netlink.OpError
	switch e := err.(type) {
	case nil:
		return nil
	case unix.Errno:
		return &Failure{Errno: int(e)}
	case *fault.Unsupported:
		if depth < mostInner {
			return &Failure{Kind: "unsupported", Mode: e.Mode, Op: e.Op, How: e.How, Inner: failureIn(e.Err, depth+1)}
		}
	case *fault.Error:
		if depth < mostInner {
			return &Failure{Kind: "error", Op: e.Op, Ack: e.Ack, How: e.How, Inner: failureIn(e.Err, depth+1)}
		}
	}
	f := &Failure{Text: err.Error()}
	var errno unix.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	if errors.As(err, &nl) {
		f.Kind, f.Op, f.Ack, f.Text = "netlink", nl.Op, nl.Message, ""
	}
	return f
}

// err makes the error again.
func (f *Failure) err() error {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case "unsupported":
		return &fault.Unsupported{Mode: f.Mode, Op: f.Op, How: f.How, Err: f.Inner.err()}
	case "error":
		return &fault.Error{Op: f.Op, Ack: f.Ack, How: f.How, Err: f.Inner.err()}
	case "netlink":
		return &netlink.OpError{Op: f.Op, Err: unix.Errno(f.Errno), Message: f.Ack}
	}
	if f.Text == "" {
		return unix.Errno(f.Errno)
	}
	return &recorded{f.Text, unix.Errno(f.Errno)}
}

// recorded is an error of which text and errno are known.
type recorded struct {
	text  string
	errno unix.Errno // 0: none
}

func (e *recorded) Error() string { return e.text }

func (e *recorded) Unwrap() error {
	if e.errno == 0 {
		return nil
	}
	return e.errno
}
