// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// Spec says where an end lives.
type Spec struct {
	Kind  string // of the [transports]: "local", "netns", "ssh" or "exec"
	Netns string // path of the namespace, for netns
	Dest  string // [USER@]HOST as ssh(1) takes it, for ssh
	Port  int    // 0: the one of ssh's configuration
	Sudo  bool   // the agent runs under sudo, for ssh
	Name  string // what results call it

	Command []string // that joins our input and output to the agent, for exec

	// Patient: for ssh and exec, a silence of a minute is borne: the flow, or what is restored, may
	// share the interface of the connection.
	Patient bool
}

// SpecError is a host that does not exist, or a word that names none: the
// caller's mistake.
type SpecError struct{ Err error }

func (e *SpecError) Error() string { return e.Err.Error() }
func (e *SpecError) Unwrap() error { return e.Err }

// WrongInput marks the error as wrong input, which decides the exit status of commands.
func (e *SpecError) WrongInput() bool { return true }

func specErrorf(format string, args ...any) error { return &SpecError{fmt.Errorf(format, args...)} }

// NetnsDir is where ip-netns(8) keeps named namespaces.
const NetnsDir = "/run/netns"

// ParseSpec reads "local", "netns:NAME" (a name as of ip-netns(8)),
// "netns:/PATH" (a namespace file, such as /proc/PID/ns/net), "exec:COMMAND", "ssh:DEST"
// or "ssh+sudo:DEST", where DEST is [USER@]HOST as ssh(1) takes it, with an optional
// port after it, or //[USER@]HOST[:PORT].
func ParseSpec(s string) (Spec, error) {
	scheme, rest, has := strings.Cut(s, ":")
	t := transportOf(scheme, has)
	if what := cmdline.SecretIn(scheme + " " + rest); what != "" && (t == nil || !t.hides) {
		return Spec{}, specErrorf("a host with a secret in it (%s), where none belongs: want one of %s", what, Forms())
	}
	if t == nil {
		return Spec{}, specErrorf("host %q: want one of %s", shown(s), Forms())
	}
	spec, err := t.parse(scheme, rest)
	switch {
	case errors.Is(err, errNoForm):
		return Spec{}, specErrorf("host %q: want one of %s", shown(s), Forms())
	case err != nil && t.hides:
		return Spec{}, specErrorf("host %s:...: %w; known are %s", scheme, err, Forms())
	case err != nil:
		return Spec{}, specErrorf("host %q: %w; known: %s", shown(s), err, Forms())
	}
	spec.Kind, spec.Name = t.kind, s
	return spec, nil
}

// shown hides the password that may stand before an @ in a host that cannot be parsed.
func shown(s string) string {
	if kind, rest, _ := strings.Cut(s, ":"); strings.ContainsAny(rest[:strings.LastIndexByte(rest, '@')+1], ":") {
		s = kind + ":" + cmdline.Hidden + rest[strings.LastIndexByte(rest, '@'):]
	}
	return s
}

// way returns the spec's transport.
func (s Spec) way() *transport {
	for i := range transports {
		if transports[i].kind == s.Kind {
			return &transports[i]
		}
	}
	return &transport{}
}

// Far reports whether the agent is reached by a connection that may be lost, and its program
// copied to where that leads.
func (s Spec) Far() bool { return s.way().far != nil }

// Starts says which programs lead to the host, beside the agents of this machine; "": none.
func (s Spec) Starts() string {
	if starts := s.way().starts; starts != nil {
		return starts(s)
	}
	return ""
}

// by names the program that leads to a far host, for messages.
func (s Spec) by() string { return plaintext.Line(s.way().by(s)) }

// check gives a good error for a host that is not there.
func (s Spec) check() error {
	if check := s.way().check; check != nil {
		return check(s)
	}
	return nil
}
