// SPDX-License-Identifier: MIT

// Package privilege knows what this process may do, and over what. A capability counts only in
// the user namespace that gave it and in those below: root of a rootless container, of
// unshare -U or of an unprivileged LXC has all of them, and yet no say over the machine. So what
// the kernel asks for has two halves: the capability, and over what (user_namespaces(7),
// security/commoncap.c: cap_capable).
package privilege

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Over is whose user namespace the kernel wants a capability in.
type Over int

const (
	Machine Over = iota // the machine's first: capable() of the kernel
	Net                 // the owner's of the calling thread's network namespace: ns_capable(net->user_ns)
	Own                 // the caller's own: ns_capable(current_user_ns())
	File                // a file of the machine's root: its owner, or capable_wrt_inode_uidgid()
)

// Cap is the number of a capability, as unix.CAP_NET_ADMIN.
type Cap int

var names = map[Cap]string{
	unix.CAP_BPF: "CAP_BPF", unix.CAP_DAC_OVERRIDE: "CAP_DAC_OVERRIDE",
	unix.CAP_DAC_READ_SEARCH: "CAP_DAC_READ_SEARCH", unix.CAP_IPC_LOCK: "CAP_IPC_LOCK",
	unix.CAP_NET_ADMIN: "CAP_NET_ADMIN", unix.CAP_NET_RAW: "CAP_NET_RAW", unix.CAP_PERFMON: "CAP_PERFMON",
	unix.CAP_SYS_ADMIN: "CAP_SYS_ADMIN", unix.CAP_SYS_NICE: "CAP_SYS_NICE", unix.CAP_SYS_PTRACE: "CAP_SYS_PTRACE",
	unix.CAP_SYS_RAWIO: "CAP_SYS_RAWIO", unix.CAP_SYS_RESOURCE: "CAP_SYS_RESOURCE", unix.CAP_SYSLOG: "CAP_SYSLOG",
	unix.CAP_NET_BIND_SERVICE: "CAP_NET_BIND_SERVICE", unix.CAP_KILL: "CAP_KILL",
}

func (c Cap) String() string {
	if n, ok := names[c]; ok {
		return n
	}
	return fmt.Sprintf("capability %d", int(c))
}

// instead are capabilities that the kernel takes in place of another (include/linux/capability.h:
// perfmon_capable, bpf_capable; security/commoncap.c has none: fs/namei.c for reading files).
var instead = map[Cap][]Cap{
	unix.CAP_PERFMON:         {unix.CAP_SYS_ADMIN},
	unix.CAP_BPF:             {unix.CAP_SYS_ADMIN},
	unix.CAP_DAC_READ_SEARCH: {unix.CAP_DAC_OVERRIDE},
}

// Names lists capabilities: "CAP_A, CAP_B and CAP_C".
func Names(caps ...Cap) string {
	var s []string
	for _, c := range caps {
		s = append(s, c.String())
	}
	if n := len(s); n > 1 {
		return strings.Join(s[:n-1], ", ") + " and " + s[n-1]
	}
	return strings.Join(s, "")
}

// Reason is why a process may not do something.
type Reason int

const (
	Granted    Reason = iota // it may, as far as capabilities go
	NotRoot                  // a user without the capability
	noNewPrivs               // the same, and neither sudo nor setcap would give it
	dropped                  // root, or a user whom root could not help: the container or service took it away
	OfUsers                  // it has the capability, but of a user namespace only
	foreignNet               // likewise, and the network namespace is not that user namespace's
	Unknown                  // /proc does not tell
)

// Reasons are all for which something is refused.
var Reasons = []Reason{OfUsers, foreignNet, dropped, noNewPrivs, NotRoot, Unknown}

// Cause explains why, in words that follow "may not:"; caps are those that the kernel asks for.
func (r Reason) Cause(caps ...Cap) string {
	c := Names(caps...)
	switch r {
	case NotRoot:
		return "no " + c
	case noNewPrivs:
		return "no " + c + ", and no_new_privs keeps sudo and setcap from giving any"
	case dropped:
		return "no " + c + ": the container or the service manager took it away, from root too"
	case OfUsers:
		return "this is a user namespace (rootless container, unshare -U, unprivileged LXC), whose root has no " +
			c + " over the machine"
	case foreignNet:
		return "this is a user namespace (rootless container, unshare -U, unprivileged LXC), whose root has no " +
			c + " over this network namespace, which is not its own"
	case Unknown:
		return "perhaps no " + c + ": /proc does not tell"
	}
	return ""
}

// Do advises what to do about it.
func (r Reason) Do(caps ...Cap) string {
	c := Names(caps...)
	switch r {
	case NotRoot, Unknown:
		return "run as root or with " + c
	case noNewPrivs:
		return "start it as root, or with " + c +
			", and without no_new_privs (NoNewPrivileges=, allowPrivilegeEscalation)"
	case dropped:
		return "run on the host, or give the container " + c + " (--cap-add, CapabilityBoundingSet=)"
	case OfUsers:
		return "run on the host, or as root outside"
	case foreignNet:
		return "run on the host, or as root outside, or in a network namespace of your own (unshare -n)"
	}
	return ""
}

// Fix looks at the calling thread and says what to do about a call that was refused, all of caps
// being what the kernel asks for. Where they are there, something else has refused it.
func Fix(over Over, caps ...Cap) string { return Look().Fix(over, caps...) }

// Fix does what [Fix] does for a thread that was looked at.
func (s State) Fix(over Over, caps ...Cap) string {
	r := s.Lacks(over, caps...)
	switch r {
	case Granted:
		return s.Elsewhere(caps...)
	case NotRoot:
		return r.Do(caps...)
	}
	return r.Cause(caps...) + ": " + r.Do(caps...)
}

// Elsewhere names what may have refused what capabilities allow.
func (s State) Elsewhere(caps ...Cap) string {
	if s.Seccomp {
		return Names(caps...) + " is there, so a seccomp filter may forbid the call (Seccomp in /proc/self/status): " +
			"allow it in the container's seccomp profile, or run on the host"
	}
	return Names(caps...) + " is there, so a security module or a kernel that is locked down may forbid it: " +
		"journalctl -k and /sys/kernel/security/lockdown show it; allow it there, or run on another host"
}
