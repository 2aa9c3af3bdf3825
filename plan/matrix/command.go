// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"strings"
)

// execHost begins a host that a command leads to (package host, Exec).
const execHost = "exec:"

// RunsProgram reports whether the file, and no flag, names a host that a program of its choice
// leads to.
func (e *End) RunsProgram() bool { return strings.HasPrefix(e.Host, execHost) && e.HostAt != At{} }

// UntrustedHost does what [Spec.Untrusted] does, for the hosts alone, which even a dry run reaches.
func (s *Spec) UntrustedHost() error {
	for _, x := range []struct {
		name string
		end  *End
	}{{"sut", &s.SUT}, {"tg", &s.TG}} {
		if x.end.RunsProgram() {
			return &Error{File: s.fileName, Line: x.end.HostAt.Line, Column: x.end.HostAt.Column,
				Msg: fmt.Sprintf("%s.host runs a program that the file names: %s (--dry-run shows what)", x.name,
					trusting)}
		}
	}
	return nil
}

// PlaceOfHost formats where in the file the end's host stands.
func (s *Spec) PlaceOfHost(e End) string {
	return fmt.Sprintf("%s:%d:%d", s.fileName, e.HostAt.Line, e.HostAt.Column)
}
