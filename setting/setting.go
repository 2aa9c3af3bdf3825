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
	// Canon makes a text that somebody typed canonical, or refuses it; nil: it is.
	Canon func(string) (string, error)
}

// Canonical is the text that Get returns when v was set.
func (s Setting) Canonical(v string) (string, error) {
	if s.Canon == nil {
		return v, nil
	}
	return s.Canon(v)
}

// Reverted is a setting that was taken without an error and yet reads back as
// something else: some drivers revert silently what they cannot do.
type Reverted struct {
	Name, Want, Got string
	Where           string // the interface, or "this host"
}

func (e *Reverted) Error() string {
	return fmt.Sprintf("set %s of %s to %s: it was taken without an error but reads back %s", e.Name, e.Where, e.Want, e.Got)
}

// Fix says what the user can do about it.
func (e *Reverted) Fix() string {
	return "the driver or kernel cannot do it together with the other settings: leave it out, or change what it depends on"
}

// Apply sets s to want unless it is so, and reads it back. where names its owner
// in a *[Reverted].
func Apply(s Setting, where, want string) error {
	want, err := s.Canonical(want)
	if err != nil {
		return err
	}
	now, err := s.Get()
	if err != nil || now == want {
		return err
	}
	if err := s.Set(want); err != nil {
		return err
	}
	if now, err = s.Get(); err != nil {
		return err
	}
	if now != want {
		return &Reverted{Name: s.Name, Want: want, Got: now, Where: where}
	}
	return nil
}
