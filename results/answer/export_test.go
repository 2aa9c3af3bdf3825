// SPDX-License-Identifier: MIT

package answer

// AddFirstLine puts a line in front of all that answers say, until undone.
func AddFirstLine(of func(*Evidence) bool, say func(*Evidence) Sentence) (undo func()) {
	before := lines
	lines = append([]line{{func(w *writer) bool { return of(&w.Evidence) },
		func(w *writer) { w.say(say(&w.Evidence)) }}}, before...)
	return func() { lines = before }
}

// StandingOn supports a sentence with a verdict.
func StandingOn(cell, text string) []verdict { return []verdict{{Cell: cell, Verdict: text}} }
