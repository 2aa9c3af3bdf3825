// SPDX-License-Identifier: MIT

// Package remedy knows what an errno of a call means, and what to do about it: one table, by
// call and errno. A call may fail with one errno for several reasons. Which one it is follows
// from the state of the host (addresses, routes, limits, capabilities), which is looked at when
// the call has failed. Rows are in the files named after what is called, looks at the state in
// files named state_*.go. docs/errors.md and docs/fixes.md are made of the table.
package remedy

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Call is something that zcbench asks of the kernel, in the words of docs/errors.md: the system
// call, and on what ("connect: TCP", "io_uring_setup", "netlink: netdev: bind-rx"). What holds
// for "netlink: netdev", for "netlink" and for [Any] holds for the last of these, too.
type Call string

// Any is every call: what the kernel may answer to all of them.
const Any Call = ""

// within returns the call that c is one of.
func (c Call) within() Call {
	i := strings.LastIndex(string(c), ": ")
	return c[:max(i, 0)]
}

// effect is what following a fix does to the host.
type effect int

const (
	harmless effect = iota // changes how zcbench is called, or only looks
	undoable               // changes the host until the next boot, or until Undo
	lasting                // changes the host for good: installs, edits a file
)

// Row is what an errno of a call may mean.
type Row struct {
	Call  Call
	Errno unix.Errno // 0: any other
	If    *state     // nil: whatever the state is; stands after the rows of the same errno that have one

	Cause  string // what may be the cause, without a full stop
	Look   string // what shows it: a command or a file
	Do     string // what to do; empty where no fix is known
	Effect effect
	Undo   string // how the host gets back to what it was; empty where Effect is Harmless
	Kernel string // where the kernel answers so: "net/ipv4/route.c: ip_route_output_key_hash_rcu"

	need *need // the row is one of those that it makes
}

// state is something about the host that is looked at when a call has failed.
type state struct {
	Name string // as a condition: "no route to the peer"
	From string // what is read: "rtnetlink: RTM_GETROUTE"
	// Holds looks. words are what it found, and take the place of the row's Cause where they
	// are not empty. What cannot be looked at does not hold.
	Holds func(On) (words string, holds bool)
	// Do says what to do about what was found, where that is more than the row can know; nil, or
	// "": what the row says.
	Do func(On) string

	fact Fact // that the caller is asked for; "": none
}

// NoFix stands where no fix is known.
const NoFix = "no fix known: please report it, with the output of zcbench doctor"

// How words what may be the cause of a call's errno on this host, and what to do about it.
func How(call Call, errno unix.Errno, on On) string {
	for _, r := range rowsOf(call, errno) {
		cause := r.Cause
		if r.If != nil {
			words, holds := r.If.Holds(on)
			if !holds {
				continue
			}
			if words != "" {
				cause = words
			}
			if r.If.Do != nil {
				r.Do = cmp.Or(r.If.Do(on), r.Do)
			}
		}
		return on.fill(r.text(cause))
	}
	return NoFix
}

func (r Row) text(cause string) string {
	s := cause
	if r.Do == "" {
		s += ": " + NoFix
	} else {
		s += ": " + r.Do
	}
	if r.Look != "" {
		s += " (" + r.Look + " shows it)"
	}
	return s
}

// Rows lists the rows of a call and of all that it is one of, the nearest first.
func Rows(call Call) (rows []Row) {
	all := table()
	for c := call; ; c = c.within() {
		for _, r := range all {
			if r.Call == c {
				rows = append(rows, r)
			}
		}
		if c == Any {
			return rows
		}
	}
}

// Calls lists the calls that have rows, in the order of docs/errors.md.
func Calls() []Call {
	var calls []Call
	for _, r := range table() {
		if !slices.Contains(calls, r.Call) {
			calls = append(calls, r.Call)
		}
	}
	return calls
}

// rowsOf lists the rows that may fit, the best first: of the errno, then of any.
func rowsOf(call Call, errno unix.Errno) []Row {
	rows := Rows(call)
	other := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Errno != 0 })
	return append(slices.DeleteFunc(rows, func(r Row) bool { return r.Errno != errno }), other...)
}

// Error makes an error of a call that failed: op says what was attempted, and on what. A fix
// that err carries already is kept. What wraps an errno and says no more than op is left out; the
// kernel's own words, which netlink brings, are not.
func Error(call Call, op string, err error, on On) *fault.Error {
	e := &fault.Error{Op: op, Err: err, How: fault.Fix(err)}
	var nl *netlink.OpError
	if errors.As(err, &nl) {
		e.Err, e.Ack = nl.Err, nl.Message
	}
	switch x := e.Err.(type) {
	case *os.PathError:
		e.Err = x.Err
	case *os.SyscallError:
		e.Err = x.Err
	}
	var errno unix.Errno
	if errors.As(err, &errno) && e.How == "" {
		e.How = How(call, errno, on)
	}
	return e
}
