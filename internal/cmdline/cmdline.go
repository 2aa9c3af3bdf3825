// SPDX-License-Identifier: MIT

// Package cmdline says what a process was started with, without what may be
// secret.
//
// A command line stands where others read it: in a journal, in the reason of a
// refused run, in results. It says which program and command it is and on which
// hosts and interfaces, by a list of what is harmless; everything else is [Hidden].
package cmdline

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/zcbench/zcbench/internal/lazy"
)

// Hidden stands for words that are not shown.
const Hidden = "…"

// open are the flags whose values are shown: who is busy with what, and for how
// long.
var open = []string{"--addr", "--channels", "--cpus", "--dev", "--duration", "--host", "--interval", "--layout",
	"--listen", "--mode", "--mtu", "--netns",
	"--out", "--pid", "--port", "--queue", "--ramp-down", "--ramp-up", "--repetitions", "--rx", "--sut", "--tg",
	"--tg-cpus", "--tg-dev", "--tx"}

var (
	// harmless are values and names of files and commands: nothing that a terminal
	// or a shell takes for more than it is, no URL with a user and a password.
	harmless = lazy.Regexp(`^[A-Za-z0-9_./][A-Za-z0-9_.:/@,%+=-]{0,99}$`)
	flagName = lazy.Regexp(`^--[a-z][a-z-]{0,30}$`)
	hostKind = lazy.Regexp(`^ssh(\+sudo)?:(//)?`)
)

// Public reduces a command line to what anybody may read: the program's name, commands and files
// before the first flag, names of flags, and the values of those that are known to be harmless.
func Public(args []string) string {
	if len(args) == 0 {
		return ""
	}
	p := printer{}
	p.word(filepath.Base(args[0]))
	for words := args[1:]; len(words) > 0 && words[0] != "--"; {
		words = p.next(words)
	}
	const most = 300
	s := strings.Join(p.out, " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + Hidden
	}
	return s
}

// Clean makes of a line what [Public] would have made: another version of zcbench
// may have written it, or another user.
func Clean(line string) string { return Public(strings.Fields(line)) }

// Printable drops from a text what is not to be seen: what moves a terminal's
// cursor, or turns the direction of writing.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// printer writes words, and the sign for hidden ones once for all in a row.
type printer struct {
	out   []string
	flags bool // there was one: what follows may be the value of another
}

// next writes one argument, with its value, and returns the rest.
func (p *printer) next(words []string) []string {
	name, value, joined := strings.Cut(words[0], "=")
	if !strings.HasPrefix(name, "-") {
		p.shown(!p.flags, words[0])
		return words[1:]
	}
	p.flags = true
	if !flagName().MatchString(name) {
		p.hide()
		return words[1:]
	}
	p.out = append(p.out, name)
	switch {
	case joined:
		p.shown(slices.Contains(open, name), value)
	case slices.Contains(open, name) && len(words) > 1:
		p.word(words[1])
		return words[2:]
	}
	return words[1:]
}

func (p *printer) shown(may bool, word string) {
	if may {
		p.word(word)
	} else {
		p.hide()
	}
}

// word writes a word if it is harmless.
func (p *printer) word(w string) {
	user, _, at := strings.Cut(hostKind().ReplaceAllString(w, ""), "@")
	if !harmless().MatchString(w) || at && strings.Contains(user, ":") {
		p.hide()
		return
	}
	p.out = append(p.out, w)
}

func (p *printer) hide() {
	if n := len(p.out); n == 0 || p.out[n-1] != Hidden {
		p.out = append(p.out, Hidden)
	}
}
