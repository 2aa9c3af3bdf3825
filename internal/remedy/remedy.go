// SPDX-License-Identifier: MIT

// Package remedy knows what an errno of a call means, and what to do about it: one table, by
// call and errno. A call may fail with one errno for several reasons. Which one it is follows
// from the state of the host (addresses, routes, limits, capabilities), which is looked at when
// the call has failed. Rows are in the files named after what is called, looks at the state in
// files named state_*.go. docs/errors.md and docs/fixes.md are made of the table.
package remedy

import (
	"errors"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// Call is something that zcbench asks of the kernel, in the words of docs/errors.md: the system
// call, and on what ("connect: TCP", "io_uring_setup", "netlink netdev: bind-rx").
type Call string

// Effect is what following a fix does to the host.
type Effect int

const (
	Harmless Effect = iota // changes how zcbench is called, or only looks
	Undoable               // changes the host until the next boot, or until Undo
	Lasting                // changes the host for good: installs, edits a file
)

// Row is what an errno of a call may mean.
type Row struct {
	Call  Call
	Errno unix.Errno // 0: any other
	If    *State     // nil: whatever the state is; stands after the rows of the same errno that have one

	Cause  string // what may be the cause, without a full stop
	Look   string // what shows it: a command or a file
	Do     string // what to do; empty where no fix is known
	Effect Effect
	Undo   string // how the host gets back to what it was; empty where Effect is Harmless
	Kernel string // where the kernel answers so: "net/ipv4/route.c: ip_route_output_key_hash_rcu"
}

// State is something about the host that is looked at when a call has failed.
type State struct {
	Name string // as a condition: "no route to the peer"
	From string // what is read: "rtnetlink: RTM_GETROUTE"
	// Holds looks. words are what it found, and take the place of the row's Cause where they
	// are not empty. What cannot be looked at does not hold.
	Holds func(On) (words string, holds bool)
}

// NoFix stands where no fix is known.
const NoFix = "no fix known: please report it, with the output of zcbench doctor"

// How says what may be the cause of a call's errno on this host, and what to do about it.
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

// rowsOf lists the rows that may fit, the best first: of the errno, then of any; of the call
// itself ("a: b"), then of the system call whatever it is on ("a").
func rowsOf(call Call, errno unix.Errno) []Row {
	whole, _, _ := strings.Cut(string(call), ": ")
	var exact, general, other, others []Row
	for _, r := range table() {
		switch {
		case r.Call == call && r.Errno == errno:
			exact = append(exact, r)
		case r.Call == call && r.Errno == 0:
			other = append(other, r)
		case r.Call == Call(whole) && r.Errno == errno:
			general = append(general, r)
		case r.Call == Call(whole) && r.Errno == 0:
			others = append(others, r)
		}
	}
	return slices.Concat(exact, general, other, others)
}

// Error makes an error of a call that failed: op says what was attempted, and on what. A fix
// that err carries already is kept.
func Error(call Call, op string, err error, on On) *fault.Error {
	e := &fault.Error{Op: op, Err: err, How: fault.Fix(err)}
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return e
	}
	if e.How == "" {
		e.How = How(call, errno, on)
	}
	return e
}
