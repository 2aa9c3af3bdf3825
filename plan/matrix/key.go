// SPDX-License-Identifier: MIT

package matrix

import (
	"cmp"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Key is one thing that a plan says of all its runs: a key of experiment files, and of the
// commands that make a plan of their flags the flag, too.
type Key struct {
	Name string // in files
	Flag string // without its dashes; "": the commands have none
	Type string
	Help string // one line

	get func(*Spec) string
	set func(*Spec, string) error
	say func(*Spec, string) error // by a flag, which has no upper limit; nil: set
}

// Keys are all keys that have one value.
var Keys = []Key{
	{Name: "port", Flag: "port", Type: "int",
		Help: "data port; in turns the first of as many as cells are open together; 0: any free port",
		set:  parsed(func(s *Spec) *int { return &s.Port }, within(0, 65535)),
		get:  func(s *Spec) string { return strconv.Itoa(s.Port) }},
	{Name: "ipv6", Flag: "ipv6", Type: "bool", Help: "use the SUT's IPv6 address",
		set: parsed(func(s *Spec) *bool { return &s.IPv6 }, parseBool),
		get: func(s *Spec) string { return strconv.FormatBool(s.IPv6) }},
	{Name: "shared_with_ssh", Flag: "shared-with-ssh", Type: "bool",
		Help: "allow the flow to use the interface that carries ssh; tolerates a minute of silence",
		set:  parsed(func(s *Spec) *bool { return &s.SharedWithSSH }, parseBool),
		get:  func(s *Spec) string { return strconv.FormatBool(s.SharedWithSSH) }},
	{Name: "repetitions", Flag: "repetitions", Type: "int", Help: "measured runs per cell",
		set: parsed(func(s *Spec) *int { return &s.Repetitions }, within(1, maxRepetitions)),
		say: parsed(func(s *Spec) *int { return &s.Repetitions }, within(1, 1_000_000)),
		get: func(s *Spec) string { return strconv.Itoa(s.Repetitions) }},
	replayKey(),
	{Name: "warmup", Flag: "warmup", Type: "bool", Help: "run each cell once first and discard the result",
		set: parsed(func(s *Spec) *bool { return &s.Warmup }, parseBool),
		get: func(s *Spec) string { return strconv.FormatBool(s.Warmup) }},
	{Name: "seed", Flag: "seed", Type: "uint", Help: "seed for the order of the runs",
		set: parsed(func(s *Spec) *uint64 { return &s.Seed }, parseSeed),
		get: func(s *Spec) string { return strconv.FormatUint(s.Seed, 10) }},
	{Name: "order", Flag: "order", Type: "string",
		Help: "blocks: one run after another; turns: cells that differ in the flow alone are open together and " +
			"take turns",
		set: parsed(func(s *Spec) *order { return &s.Order }, parseOrder),
		get: func(s *Spec) string { return cmp.Or(string(s.Order), blocks) }},
	{Name: "turn", Flag: "turn", Type: "duration", Help: "length of a turn, with order turns",
		set: parsed(func(s *Spec) *time.Duration { return &s.Turn }, parseTurn),
		get: func(s *Spec) string { return cmp.Or(s.Turn, usualTurn).String() }},
	timeKey("duration", "duration", "length of the measured window", 100*time.Millisecond,
		func(s *Spec) *time.Duration { return &s.Duration }),
	timeKey("warmup_duration", "warmup-duration", "length of a warm-up's window; 0: the same as --duration", orNone,
		func(s *Spec) *time.Duration { return &s.WarmupDuration }),
	timeKey("ramp_up", "ramp-up", "unmeasured time before the window", 0,
		func(s *Spec) *time.Duration { return &s.RampUp }),
	timeKey("ramp_down", "ramp-down", "unmeasured time after the window", 0,
		func(s *Spec) *time.Duration { return &s.RampDown }),
	restKey,
	{Name: "sample_interval", Flag: "sample-interval", Type: "duration", Help: "interval of the time series; 0: none",
		get: func(s *Spec) string { return s.Common.SampleInterval.String() },
		set: parsed(func(s *Spec) *time.Duration { return &s.Common.SampleInterval },
			zeroOr(duration(20*time.Millisecond)))},
	timeKey("stall", "stall",
		"fail if nothing comes for this long: the other end, payload, or the end of the flow; 0: 10s", orNone,
		func(s *Spec) *time.Duration { return &s.Common.Stall }),
}

// orNone is the least of a time that may be 0, too.
const orNone = -100 * time.Millisecond

func timeKey(name, flag, help string, least time.Duration, at func(*Spec) *time.Duration) Key {
	read := func(most time.Duration) func(*Spec, string) error {
		if least < 0 {
			return parsed(at, zeroOr(durationWithin(-least, most)))
		}
		return parsed(at, durationWithin(least, most))
	}
	return Key{Name: name, Flag: flag, Type: "duration", Help: help, set: read(mostDuration),
		say: read(10_000 * time.Hour),
		get: func(s *Spec) string { return at(s).String() }}
}

func parsed[T any](at func(*Spec) *T, parse func(string) (T, error)) func(*Spec, string) error {
	return func(s *Spec, text string) (err error) {
		v, err := parse(text)
		if err == nil {
			*at(s) = v
		}
		return err
	}
}

// zeroOr lets 0 switch something off.
func zeroOr(parse func(string) (time.Duration, error)) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		if d, err := time.ParseDuration(s); err == nil && d == 0 {
			return 0, nil
		}
		return parse(s)
	}
}

// Get formats a spec's value of the key.
func (k *Key) Get(s *Spec) string { return k.get(s) }

// Set reads a value.
func (k *Key) Set(s *Spec, text string) error { return k.read(s, text, k.set) }

// read takes note that somebody said the key.
func (k *Key) read(s *Spec, text string, set func(*Spec, string) error) error {
	if s.said == nil {
		s.said = map[string]bool{}
	}
	s.said[k.Name] = true
	return set(s, text)
}

// Said reports whether the file, or a flag, says a key.
func (s *Spec) Said(key string) bool { return s.said[key] }

// Say reads the value of a flag: the limits of files, which others may have written, do not
// hold for it.
func (k *Key) Say(s *Spec, text string) error {
	if k.say != nil {
		return k.read(s, text, k.say)
	}
	return k.Set(s, text)
}

// LookupKey finds a key by its name; nil where there is none.
func LookupKey(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}

// keys makes the fields of a file for [Keys].
func (s *Spec) keys() (out []field) {
	for i := range Keys {
		k := &Keys[i]
		out = append(out, field{k.Name, func(n ast.Node) error {
			if k.Name == "ipv6" {
				s.ipv6At = n
			}
			text, err := scalar(n)
			if err != nil {
				return err
			}
			if err := k.Set(s, text); err != nil {
				return at(n, "%v", err)
			}
			return nil
		}})
	}
	return out
}
