// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/power"
)

// maxPower is the most power sources that a file may name.
const maxPower = 100

// Power is how power is measured beside the runs, as far as the file says. It is no
// part of the plan's hash: journals compare what power was really measured with, which
// flags have a word in.
type Power struct {
	Sources []powerSource
	// Nil: the file does not say.
	Interval, Idle, Guard *time.Duration
}

// powerSource is a source that the file names.
type powerSource struct {
	Text string     // as --power takes it
	Spec power.Spec // zero for [power.Auto] and [power.Later]

	Line, Column int // in the file
}

// Reaches lists what the words of the source lead to (see [power.Spec.Reaches]).
func (s powerSource) Reaches() []power.Reach {
	if s.Text == power.Auto || s.Text == power.Later {
		return nil
	}
	return s.Spec.Reaches()
}

// Place formats where in the file the source stands.
func (s *Spec) Place(p powerSource) string {
	return fmt.Sprintf("%s:%d:%d", s.fileName, p.Line, p.Column)
}

// trusting is the fix of [Spec.Untrusted].
const trusting = "read the file, then allow it with --trust-file"

// Untrusted refuses the first host or power source of the file that leads elsewhere than to
// zcbench's agents and the sensors of the hosts: to a program, which would run as whoever runs the
// file, often as root; to an address, which would get the user's passwords; or to a path; or the
// first sysctl that measuring does not need, see [tune.ForMeasuring]; or the first memory that a
// program of the file's makes, or the first folder of the file's that payload is written to. The
// file's author is often somebody else. Nil: there is none.
func (s *Spec) Untrusted() error {
	if err := s.UntrustedHost(); err != nil {
		return err
	}
	if err := s.untrustedSysctl(); err != nil {
		return err
	}
	if err := s.untrustedMemory(); err != nil {
		return err
	}
	if err := s.untrustedFolder(); err != nil {
		return err
	}
	what := map[power.Deed]string{power.Runs: "runs a program", power.Asks: "contacts an address",
		power.Opens: "opens a path"}
	for _, p := range s.Power.Sources {
		if r := p.Reaches(); len(r) > 0 {
			return &Error{File: s.fileName, Line: p.Line, Column: p.Column,
				Msg: fmt.Sprintf("power source %s %s named by the file: %s (--dry-run shows which)", p.Spec.Name,
					what[r[0].Does], trusting)}
		}
	}
	return nil
}

func (p *Power) fields() []field {
	limited := func(to **time.Duration, least, most time.Duration) func(ast.Node) error {
		return func(n ast.Node) error {
			*to = new(time.Duration)
			return read(*to, durationWithin(least, most))(n)
		}
	}
	return []field{
		{"power", p.sources},
		{"power_interval", limited(&p.Interval, power.LeastInterval, power.MostInterval)},
		{"power_idle", limited(&p.Idle, 0, mostDuration)},
		{"power_guard", limited(&p.Guard, 0, mostDuration)},
	}
}

func (p *Power) sources(n ast.Node) error {
	nodes := list(n)
	if len(nodes) > maxPower {
		return at(nodes[maxPower], "more than %d power sources", maxPower)
	}
	var specs []power.Spec
	for _, n := range nodes {
		text, err := scalar(n)
		if err != nil {
			return err
		}
		s := powerSource{Text: text}
		s.Line, s.Column = position(n.GetToken())
		if text != power.Auto && text != power.Later {
			if s.Spec, err = parsePower(text, specs); err != nil {
				return at(n, "%v", err)
			}
			specs = append(specs, s.Spec)
		}
		p.Sources = append(p.Sources, s)
	}
	return nil
}

func parsePower(text string, before []power.Spec) (power.Spec, error) {
	if strings.Contains(text, "\n") {
		return power.Spec{}, errors.New("a power source has a line break: put longer commands into a script")
	}
	s, err := power.ParseSpec(text)
	if err == nil {
		err = s.CheckTwice(before)
	}
	if what := cmdline.SecretIn(s.Target); err == nil && s.Name == "command" && what != "" {
		err = fmt.Errorf("the command has a secret in it (%s), and the journal keeps the file's text: "+
			"put it into a file or the environment, where the program reads it, or name the command with --power", what)
	}
	return s, err
}
