// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zcbench/zcbench/machine/tune"
)

// Unneeded refuses the named sysctl of an end's settings if measuring does not need it; nil: it
// needs it, or no file has named it.
func (s *Settings) Unneeded(name string) error {
	v, ok := s.Sysctl[name]
	if !ok {
		return nil
	}
	return tune.ForMeasuring(name, v)
}

// PlaceOfSysctl formats where in the file a sysctl of an end stands.
func (s *Spec) PlaceOfSysctl(of *Settings, name string) string {
	at := of.sysctlAt[name]
	if at == (At{}) { // of a plan that is played again
		return s.fileName
	}
	return fmt.Sprintf("%s:%d:%d", s.fileName, at.Line, at.Column)
}

// untrustedSysctl does what [Spec.Untrusted] does, for the sysctls alone: one may switch off what
// protects a host.
func (s *Spec) untrustedSysctl() error {
	for _, x := range []struct {
		end string
		of  *Settings
	}{{"sut", &s.SUT.Settings}, {"tg", &s.TG.Settings}} {
		for _, name := range slices.Sorted(maps.Keys(x.of.Sysctl)) {
			if err := x.of.Unneeded(name); err != nil {
				at := x.of.sysctlAt[name]
				return &Error{File: s.fileName, Line: at.Line, Column: at.Column,
					Msg: fmt.Sprintf("%s.settings: %v: %s", x.end, err, trusting)}
			}
		}
	}
	return nil
}
