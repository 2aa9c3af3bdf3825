// SPDX-License-Identifier: MIT

// Package setting is what a setting of a host or an interface looks like to those
// who set, verify, record and restore it: a name, and a value as text.
package setting

import "fmt"

// Setting is one thing that can be read and set, as text, so that it can be
// written down and put back by another process. Texts are canonical: what Get
// returns, Set takes, and equal settings have equal texts.
type Setting struct {
	Name string
	Get  func() (string, error)
	Set  func(string) error
	// Ask, where what reads back does not tell what was asked for, asks for a text
	// whatever reads back, and reports whether something else was asked for before. Leave
	// takes that back, for whoever the setting belongs to, and what was read should read
	// again; if it does not, Set sets it. nil: reading tells.
	Ask   func(string) (changed bool, err error)
	Leave func(string) error
	// Enough reports that a text need not be asked for where it reads so already, unless for what
	// looks at what was asked for. nil: each must be.
	Enough func(text string) bool
	// Canon makes a text that somebody typed canonical, or refuses it, without
	// looking at the host; nil: it is.
	Canon func(typed string) (string, error)
	// Complete adds to a canonical text what it leaves open, as it was found; nil:
	// nothing can be left open.
	Complete func(text, found string) (string, error)
	// Follows reports whether now is what may read back once a canonical text was
	// set, where the kernel can tell it by another text; nil: by none.
	Follows func(text, now string) bool
	// Noted, where what is set is a thing that reading may not tell from others of its kind, is the
	// setting for whoever writes down what is known of that thing. note is what was written last;
	// "": nothing was made, [Unnoted]: nobody wrote it down. write gets the next note: before the
	// thing is made, when its place is known, and when it is gone. A note must be safe from a crash
	// when write returns. nil: reading tells.
	Noted func(note string, write func(note string) error) Setting
	// Why says why now reads back though want was taken without an error, and what to do
	// about it; empty where it is not known. nil: it never is.
	Why func(want, now string) (why, fix string)
}

// Unnoted is the note of what was made by a program that wrote none: see [Setting].Noted.
const Unnoted = "unknown"

// Gone is the error of a setting that went with what had it, such as a queue's NAPI instance:
// nothing of it is left to be restored.
type Gone struct{ Err error }

func (e *Gone) Error() string { return e.Err.Error() }
func (e *Gone) Unwrap() error { return e.Err }

// Canonical converts what was typed to the text to be set, all but what it leaves open.
func (s Setting) Canonical(v string) (string, error) {
	if s.Canon == nil {
		return v, nil
	}
	v, err := s.Canon(v)
	if err != nil {
		err = &Invalid{Name: s.Name, Err: err}
	}
	return v, err
}

// Whole completes a canonical text with what it leaves open as found, which is read only if
// something can be left open.
func (s Setting) Whole(v string, found func() (string, error)) (string, error) {
	if s.Complete == nil {
		return v, nil
	}
	f, err := found()
	if err != nil {
		return v, err
	}
	return s.Complete(v, f)
}

// Reads reports whether now is what reads back when v was set.
func (s Setting) Reads(v, now string) bool {
	return now == v || s.Follows != nil && s.Follows(v, now)
}

// Invalid is a value that no host could have: the caller's mistake.
type Invalid struct {
	Name string
	Err  error
}

func (e *Invalid) Error() string { return fmt.Sprintf("setting %q: %v", e.Name, e.Err) }
func (e *Invalid) Unwrap() error { return e.Err }

// Reverted is a setting that was taken without an error and yet reads back as
// something else: some drivers revert silently what they cannot do.
type Reverted struct {
	Name, Want, Got string
	Where           string // the interface, or "this host"
	Why, How        string // why, and the fix, where they are known
}

func (e *Reverted) Error() string {
	s := fmt.Sprintf("set %s of %s to %s: it was accepted without an error, but reads back %s", e.Name, e.Where, e.Want,
		e.Got)
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// Fix advises what the user can do about it.
func (e *Reverted) Fix() string {
	if e.How != "" {
		return e.How
	}
	return "the driver or kernel cannot combine it with the other settings: leave it out, or change what it depends on"
}

// Apply sets s to want unless it is so, and reads it back. where names its owner
// in a *[Reverted].
func Apply(s Setting, where, want string) error {
	want, err := s.Canonical(want)
	if err != nil {
		return err
	}
	now, err := s.Get()
	if err != nil {
		return err
	}
	if want, err = s.Whole(want, func() (string, error) { return now, nil }); err != nil || s.Ask == nil &&
		s.Reads(want, now) {
		return err
	}
	_, err = s.ask(where, want)
	return err
}

// ask sets s to want and reads it back.
func (s Setting) ask(where, want string) (changed bool, err error) {
	changed = true
	if s.Ask != nil {
		changed, err = s.Ask(want)
	} else {
		err = s.Set(want)
	}
	if err != nil {
		return changed, err
	}
	now, err := s.Get()
	if err == nil && !s.Reads(want, now) {
		err = s.reverted(where, want, now)
	}
	return changed, err
}

func (s Setting) reverted(where, want, now string) *Reverted {
	r := &Reverted{Name: s.Name, Want: want, Got: now, Where: where}
	if s.Why != nil {
		r.Why, r.How = s.Why(want, now)
	}
	return r
}

// Ask does what Apply does for a canonical text that leaves nothing open, of a setting with an Ask
// of its own: it reports whether something else was asked for before.
func Ask(s Setting, where, want string) (changed bool, err error) { return s.ask(where, want) }
