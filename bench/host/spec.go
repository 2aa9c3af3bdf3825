// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// Spec says where an end lives.
type Spec struct {
	Kind  string // "local", "netns", "ssh" or "exec"
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

// Forms are the hosts that [ParseSpec] knows, for help texts.
const Forms = "local, netns:NAME, ssh:[USER@]HOST, ssh+sudo:[USER@]HOST, exec:COMMAND"

// ParseSpec reads "local", "netns:NAME" (a name as of ip-netns(8)),
// "netns:/PATH" (a namespace file, such as /proc/PID/ns/net), "exec:COMMAND", "ssh:DEST"
// or "ssh+sudo:DEST", where DEST is [USER@]HOST as ssh(1) takes it, with an optional
// port after it, or //[USER@]HOST[:PORT].
func ParseSpec(s string) (Spec, error) {
	kind, rest, has := strings.Cut(s, ":")
	if what := cmdline.SecretIn(kind + " " + rest); what != "" && !strings.HasPrefix(s, Exec) {
		return Spec{}, specErrorf("a host with a secret in it (%s), where none belongs: want one of %s", what, Forms)
	}
	switch {
	case s == "local":
		return Spec{Kind: "local", Name: "local"}, nil
	case kind == "netns" && has && rest != "" && rest != "." && rest != "..":
		path := rest
		if !strings.Contains(rest, "/") {
			path = filepath.Join(NetnsDir, rest)
		}
		return Spec{Kind: "netns", Netns: path, Name: s}, nil
	case (kind == "ssh" || kind == "ssh+sudo") && has:
		dest, port, err := sshDest(rest)
		if err != nil {
			return Spec{}, specErrorf("host %q: %w; known: %s", shown(s), err, Forms)
		}
		return Spec{Kind: "ssh", Dest: dest, Port: port, Sudo: kind == "ssh+sudo", Name: s}, nil
	case strings.HasPrefix(s, Exec):
		command, err := parseCommand(rest)
		if err != nil { // without the command: what is wrong with it may stand beside a secret
			return Spec{}, specErrorf("host exec:...: %w; known are %s", err, Forms)
		}
		return Spec{Kind: "exec", Command: command, Name: s}, nil
	}
	return Spec{}, specErrorf("host %q: want one of %s", shown(s), Forms)
}

// shown hides the password that may stand before an @ in a host that cannot be parsed.
func shown(s string) string {
	if kind, rest, _ := strings.Cut(s, ":"); strings.ContainsAny(rest[:strings.LastIndexByte(rest, '@')+1], ":") {
		s = kind + ":" + cmdline.Hidden + rest[strings.LastIndexByte(rest, '@'):]
	}
	return s
}

// Far reports whether the agent is reached by a connection that may be lost, and its program
// copied to where that leads.
func (s Spec) Far() bool { return s.Kind == "ssh" || s.Kind == "exec" }

// by names the program that leads to a far host, for messages.
func (s Spec) by() string {
	if s.Kind == "exec" {
		return plaintext.Line(filepath.Base(s.Command[0]))
	}
	return "ssh"
}

// check gives a good error for a namespace that is not there.
func (s Spec) check() error {
	if s.Kind != "netns" {
		return nil
	}
	_, err := os.Stat(s.Netns)
	if errors.Is(err, os.ErrNotExist) && filepath.Dir(s.Netns) == NetnsDir {
		return specErrorf("host %s: no such network namespace: %s (make it with: ip netns add %s)", s.Name, s.Netns,
			filepath.Base(s.Netns))
	}
	if perr := kernelfile.CheckPIDs("/proc"); err != nil && perr != nil { // /proc/PID is another's
		return specErrorf("host %s: %w: %w: %s", s.Name, err, perr, fault.Fix(perr))
	}
	if err != nil {
		return specErrorf("host %s: %w", s.Name, err)
	}
	return nil
}
