// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/setting"
)

// placeNote is what is written down of a thing of ours of which the NIC has several, at places
// that it chooses: an ntuple rule, an RSS context. So it is found whatever reads back: some drivers
// tell less of a rule than others, and each may refuse to tell while it resets. As a text it is the
// word and the places: "at 1023".
type placeNote struct {
	word   string
	places []uint32
}

// The words of a note.
const (
	noteNone    = ""              // none was made
	noteUnnoted = setting.Unnoted // whoever made one, if any, wrote nothing down
	noteMaking  = "not at"        // one is about to be made: what is at these places is others'
	noteAt      = "at"            // it is at this place
	noteDeleted = "deleted"       // it is gone
)

func (n placeNote) String() string {
	return strings.TrimSpace(n.word + " " + strings.Trim(fmt.Sprint(n.places), "[]"))
}

func parsePlaceNote(text string) (n placeNote, err error) {
	var words []string
	for _, f := range strings.Fields(text) {
		if place, err := parse32(f); err == nil {
			n.places = append(n.places, place)
		} else {
			words = append(words, f)
		}
	}
	n.word = strings.Join(words, " ")
	known := slices.Contains([]string{noteNone, noteUnnoted, noteMaking, noteAt, noteDeleted}, n.word)
	placed := map[string]int{noteMaking: len(n.places), noteAt: 1}[n.word]
	if !known || len(n.places) != placed || n.String() != text {
		return n, fmt.Errorf("note of where a setting is: %.80q", text)
	}
	return n, nil
}

// placed is such a thing.
type placed interface {
	// make makes it, and writes down what is about to be made, and where it is.
	make(write func(placeNote) error) error
	// look looks for it among what is not at the places but.
	look(but []uint32) (placeLook, error)
	// holds reports whether a place is taken, and does not read back as another's.
	holds(at uint32) (bool, error)
	// remove takes away what is at a place.
	remove(at uint32) error
	// unsure is an error that names what may be it, and what to do about that.
	unsure(placeLook) error
}

// placeLook is what there is of such a thing.
type placeLook struct {
	at     uint32
	found  bool
	unsure []uint32 // what is there may be it, and does not tell
	err    error    // why the first of them does not; nil: the driver leaves it out
}

// held is such a thing as a setting that is present or absent, with what is written down of it.
type held struct {
	of    placed
	note  placeNote
	bad   error // the note does not read
	write func(string) error
}

// hold makes a thing the value of a setting.
func hold(s *setting.Setting, of placed) {
	plain := held{of: of}
	s.Get, s.Set = plain.get, plain.set
	s.Canon = oneOf(present, absent)
	s.Noted = func(note string, write func(string) error) setting.Setting {
		own := &held{of: of, write: write}
		own.note, own.bad = parsePlaceNote(note)
		return setting.Setting{Name: s.Name, Canon: s.Canon, Get: own.get, Set: own.set}
	}
}

// keep writes a note down. It counts from then on, also where it could not be written.
func (h *held) keep(n placeNote) error {
	h.note = n
	if h.write == nil {
		return nil
	}
	return h.write(n.String())
}

func (h *held) get() (string, error) {
	l, err := h.find()
	if err == nil && !l.found && busy(l.err) {
		err = l.err
	}
	if l.found {
		return present, err
	}
	return absent, err
}

func (h *held) set(v string) error {
	if v == present {
		return h.of.make(h.keep)
	}
	l, err := h.find()
	if err == nil && !l.found {
		err = l.err // what was to be deleted may be what does not read back
	}
	if err != nil || !l.found {
		return err
	}
	if err := h.of.remove(l.at); err != nil {
		return err
	}
	if l, err = h.find(); err == nil && !l.found {
		_ = h.keep(placeNote{word: noteDeleted}) // a disk that is full must not hinder the undoing
	}
	return err
}

// find finds the thing. One whose place is written down is there while that place is taken, unless
// what reads back is another's. One whose place is not, since who made it was killed or refused at
// the wrong moment, must be recognised: where something may be it, and may be another's, that is an
// error. Where none was made, what others have, and does not read back, is not in the way.
func (h *held) find() (l placeLook, err error) {
	var but []uint32
	switch {
	case h.bad != nil:
		return l, h.bad
	case h.note.word == noteDeleted:
		return l, nil
	case h.note.word == noteAt:
		if ok, err := h.of.holds(h.note.places[0]); ok || err != nil {
			return placeLook{at: h.note.places[0], found: ok}, err
		}
	case h.note.word == noteMaking:
		but = h.note.places
	}
	l, err = h.of.look(but)
	switch {
	case err != nil || l.found || h.note.word == noteNone:
	case h.note.word == noteAt: // it is gone
		l = placeLook{}
	case len(l.unsure) > 0:
		err = h.of.unsure(l)
	}
	return l, err
}
