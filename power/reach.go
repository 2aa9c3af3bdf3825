// SPDX-License-Identifier: MIT

package power

import "fmt"

// Reach is something that the words of a spec lead to, beyond the sensors that a
// host's kernel has in their own places. Whoever wrote the words chose it: in a file
// from somebody else it is allowed by whoever runs the file, or not reached at all.
type Reach struct {
	Does Deed
	What string // the program as it is started, the address, or the path
	With string // the secrets that an address gets: variables of the environment, or a file; "" where it gets none
}

// Deed is what is done with what a spec leads to.
type Deed string

// The deeds.
const (
	Runs  Deed = "runs"     // a program
	Asks  Deed = "contacts" // an address
	Opens Deed = "opens"    // a file, folder or device; also opening one can do harm, as of a watchdog
)

func (r Reach) String() string {
	text := fmt.Sprintf("%s %s", r.Does, r.What)
	if r.With != "" {
		text += " with the secrets of " + r.With
	}
	return text
}

// Reaches lists all that the spec leads to; nil for a source that only reads a host's own sensors,
// or looks for its helper where zcbench always does.
func (s Spec) Reaches() []Reach {
	if k := kinds[s.Name]; k.reaches != nil {
		return k.reaches(s)
	}
	return []Reach{{Does: Runs, What: "something unknown, for source " + s.Name}} // no source goes unasked
}

// opens lists the paths that options name.
func opens(options ...string) func(Spec) []Reach {
	return func(s Spec) (out []Reach) {
		for _, name := range options {
			if path := s.Options.Get(name); path != "" {
				out = append(out, Reach{Does: Opens, What: path})
			}
		}
		return out
	}
}

// asks lists the address that a target names, and the paths that options name.
func asks(address func(Spec) string, paths ...string) func(Spec) []Reach {
	return func(s Spec) []Reach {
		return append([]Reach{{Does: Asks, What: address(s)}}, opens(paths...)(s)...)
	}
}

// asksWithSecrets lists the same as asks, for an instrument that wants to know who asks.
func asksWithSecrets(address func(Spec) string, paths ...string) func(Spec) []Reach {
	all := asks(address, append(paths, secretsOption)...)
	return func(s Spec) []Reach {
		out := all(s)
		out[0].With = secretsPrefix(s) + "*"
		if path := s.Options.Get(secretsOption); path != "" {
			out[0].With = path
		}
		return out
	}
}
