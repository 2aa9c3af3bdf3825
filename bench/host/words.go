// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// longestCommand is the most bytes of the command of an exec host.
const longestCommand = 2048

// column counts characters from 1 to a place in a command, for people.
func column(s string, at int) int { return len([]rune(s[:at])) + 1 }

// splitWords takes a command apart as a POSIX shell does, and starts none: blanks part words,
// quotes of both kinds and the backslash hide them. What a shell would replace, or take for an
// operator, is an error with its column: it would not be what its author meant.
func splitWords(s string) ([]string, error) {
	w := splitter{text: s}
	for w.at < len(s) {
		if err := w.next(); err != nil {
			return nil, err
		}
	}
	w.end()
	return w.words, nil
}

type splitter struct {
	text  string
	at    int
	words []string
	word  strings.Builder
	open  bool // a word has begun, perhaps an empty one
}

func (w *splitter) errorf(at int, format string, args ...any) error {
	return fmt.Errorf("column %d: %s", column(w.text, at), fmt.Sprintf(format, args...))
}

func (w *splitter) end() {
	if w.open {
		w.words = append(w.words, w.word.String())
		w.word.Reset()
		w.open = false
	}
}

func (w *splitter) add(c byte) {
	w.word.WriteByte(c)
	w.open = true
}

// noShell is what to do where a shell is wanted.
const noShell = "no shell reads this: quote it, or write sh -c '...'"

// next reads one character, or all that stands in quotes.
func (w *splitter) next() error {
	at, c := w.at, w.text[w.at]
	w.at++
	switch {
	case c == ' ' || c == '\t':
		w.end()
	case c == '\'':
		n := strings.IndexByte(w.text[w.at:], '\'')
		if n < 0 {
			return w.errorf(at, "' without another one after it")
		}
		w.word.WriteString(w.text[w.at : w.at+n])
		w.open = true
		w.at += n + 1
	case c == '"':
		return w.quoted(at)
	case c == '\\':
		if w.at == len(w.text) {
			return w.errorf(at, "nothing after \\")
		}
		w.add(w.text[w.at])
		w.at++
	case strings.IndexByte("|&;<>()$`*?", c) >= 0, !w.open && (c == '~' || c == '#'):
		return w.errorf(at, "%c means something to a shell, and %s", c, noShell)
	default:
		w.add(c)
	}
	return nil
}

// quoted reads what stands between double quotes, from behind the first one.
func (w *splitter) quoted(from int) error {
	w.open = true
	for w.at < len(w.text) {
		at, c := w.at, w.text[w.at]
		w.at++
		switch {
		case c == '"':
			return nil
		case c == '$' || c == '`':
			return w.errorf(at, "%c means something to a shell, also in double quotes, and %s", c, noShell)
		case c == '\\' && w.at < len(w.text) && strings.IndexByte("\\\"$`", w.text[w.at]) >= 0:
			w.add(w.text[w.at])
			w.at++
		default:
			w.add(c)
		}
	}
	return w.errorf(from, "\" without another one after it")
}

var assignment = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*=`)

// parseCommand reads the command of an exec host.
func parseCommand(s string) ([]string, error) {
	if len(s) > longestCommand {
		return nil, fmt.Errorf("a command of %d bytes is too long (%d): put it into a script", len(s), longestCommand)
	}
	if at := strings.IndexFunc(s, func(r rune) bool {
		return r == '\n' || r == '\t' || !plaintext.Safe(r) ||
			r == '\uFFFD'
	}); at >= 0 {
		return nil, fmt.Errorf("column %d: a character that is no plain text of one line", column(s, at))
	}
	words, err := splitWords(s)
	switch {
	case err != nil:
		return nil, err
	case len(words) == 0:
		return nil, fmt.Errorf("no command, such as srun -w NODE -N1 -n1 --overlap -u")
	}
	if i, what := cmdline.Secret(words); what != "" {
		return nil, fmt.Errorf(
			"word %d: %s: results folders and ps show the whole command, so that no secret may be in it: "+
				"put it into a file or the environment, where the program reads it", i+1, what)
	}
	switch {
	case assignment().MatchString(words[0]):
		name, _, _ := strings.Cut(words[0], "=")
		return nil, fmt.Errorf("column 1: %s=... is no program: write env %s=... PROGRAM ARGUMENTS", name, name)
	case words[0] == "" || words[0][0] == '-':
		return nil, fmt.Errorf("column 1: %q is no program", words[0])
	}
	return words, nil
}

// Shell quotes a host so that a shell takes it for one word.
func Shell(spec string) string {
	return plaintext.Word(spec)
}
