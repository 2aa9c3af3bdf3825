// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// need is what the kernel wants of the caller of a call.
type need struct {
	call   Call
	errno  unix.Errno // 0 is EPERM
	over   privilege.Over
	caps   []privilege.Cap // all of them
	or     string          // what helps instead, for a caller that lacks them: "leave out --busy-poll"
	undo   string          // how the host gets back where or was followed; empty where it changes nothing
	kernel string
}

// rows makes one for each way to lack the capabilities, and two for who has them: a filter of
// system calls, a security module. They end what is known of the errno.
func (n need) rows() []Row {
	if n.errno == 0 {
		n.errno = unix.EPERM
	}
	has := privilege.Names(n.caps...)
	const from = "/proc/thread-self/status, /proc/thread-self/ns"
	var rows []Row
	for _, r := range privilege.Reasons {
		do := r.Do(n.caps...)
		if n.or != "" {
			do += ", or " + n.or
		}
		rows = append(rows, Row{Call: n.call, Errno: n.errno, Kernel: n.kernel, Cause: r.Cause(n.caps...),
			Do:   do,
			Look: lookPrivilege,
			If: &state{Name: r.Cause(n.caps...), From: from,
				Holds: func(On) (string, bool) { return "", privilege.Look().Lacks(n.over, n.caps...) == r }}})
	}
	rows = append(rows,
		Row{Call: n.call, Errno: n.errno, Kernel: "kernel/seccomp.c: __seccomp_filter", If: filtered,
			Cause: has + " is there, so the seccomp filter of a container or service may forbid the call",
			Do:    "allow the call in its seccomp profile, or run on the host",
			Look:  "grep Seccomp /proc/self/status"},
		Row{Call: n.call, Errno: n.errno, Kernel: "security/security.c: call_int_hook",
			Cause: has + " is there, so a security module, or a kernel that is locked down, may forbid the call",
			Do:    "allow the call in the security module's policy, or run on another host",
			Look:  "journalctl -k, or cat /sys/kernel/security/lockdown"})
	for i := range rows {
		if rows[i].Look == lookPrivilege && n.undo != "" {
			rows[i].Effect, rows[i].Undo = undoable, n.undo
		}
		rows[i].need = &n
	}
	return rows
}

const lookPrivilege = "grep -E 'Cap|NoNewPrivs' /proc/self/status, and readlink /proc/self/ns/user,"

var filtered = &state{Name: "a seccomp filter is in force", From: "/proc/thread-self/status",
	Holds: func(On) (string, bool) { return "", privilege.Look().Seccomp }}

// lacking keeps the rows of who lacks a capability, and drops those that end what is known.
func lacking(n need) []Row {
	return slices.DeleteFunc(n.rows(), func(r Row) bool { return r.Look != lookPrivilege })
}
