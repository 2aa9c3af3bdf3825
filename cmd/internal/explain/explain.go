// SPDX-License-Identifier: MIT

package explain

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Book answers what words mean.
type Book struct {
	Entries  []Entry
	passages []passage
}

// New makes a book of pages, flags of commands, and the program's own lists.
func New(pages fs.FS, flags []Flag) (*Book, error) {
	p, err := read(pages)
	return &Book{entries(flags), p}, err
}

// Answer is an entry with what the docs say about it. An entry without a kind is a word that the
// docs alone know.
type Answer struct {
	Entry
	Passages []passage
	More     int // passages that are left out
}

// most passages are shown that are about an entry, more of an errno, which many calls may give, and
// fewer of those that only mention it.
const most, mostErrno, mostMentions = 6, 12, 3

// Lookup finds everything that has the name, or the one that kind:name picks.
func (b *Book) Lookup(name string) (out []Answer) {
	kind := ""
	if k, rest, ok := strings.Cut(name, ":"); ok && slices.Contains(Kinds, k) {
		kind, name = k, rest
	}
	for _, e := range b.Entries {
		if (kind == "" || e.Kind == kind) && matches(e, name) {
			if e.Kind == "mark" && !same(e.Name, name) {
				e.Name = strings.ToLower(name) // over-vlan, of over-KIND
			}
			out = append(out, b.answer(e))
		}
	}
	if len(out) == 0 && kind == "" {
		if a := b.answer(Entry{Name: name}); len(a.Passages) > 0 {
			out = append(out, a)
		}
	}
	return out
}

// matches reports whether an entry has the name; metrics and marks may have a part in capitals that
// stands for what differs, such as a number.
func matches(e Entry, name string) bool {
	if e.Kind != "metric" && e.Kind != "mark" || e.Name == strings.ToLower(e.Name) {
		return same(e.Name, name)
	}
	return same(e.Name, name) || fits(e.Name, strings.ToLower(name))
}

// fits reports whether a name has the form of one with words in capitals.
func fits(form, name string) bool {
	i := strings.IndexFunc(form, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	if i < 0 {
		return form == name
	}
	if !strings.HasPrefix(name, form[:i]) || i == 0 {
		return false
	}
	rest := strings.TrimLeftFunc(form[i:], func(r rune) bool { return r >= 'A' && r <= 'Z' })
	for n := i + 1; n <= len(name); n++ {
		if fits(rest, name[n:]) || rest == "" && n == len(name) {
			return true
		}
	}
	return false
}

// answer finds the passages that are about an entry: those that begin with its name; where there
// are none, those that mention it. Its own pages come first.
func (b *Book) answer(e Entry) Answer {
	a := Answer{Entry: e}
	about := func(p passage) bool {
		return slices.ContainsFunc(p.defines, func(w string) bool { return same(w, e.Name) }) || same(p.Section, e.Name)
	}
	found, limit := b.find(e, about), most
	if e.Kind == "errno" {
		limit = mostErrno
	}
	if len(found) == 0 {
		limit = mostMentions
		found = b.find(e, func(p passage) bool { return strings.Contains(p.Text, "`"+e.Name+"`") })
	}
	if len(found) == 0 {
		found = b.find(e, func(p passage) bool { return mentions(p.Text, e.Name) })
	}
	if own := e.own(found); len(own) > 0 && (e.Kind == "rx" || e.Kind == "tx") {
		found = own // on other pages, the word means a probe, a class of functions or a row of a table
	}
	if e.Kind == "errno" { // what the other pages say is not to drown in the table's rows
		n := slices.IndexFunc(found, func(p passage) bool { return p.Page != errorsPage })
		if n > limit {
			a.More, found = n-limit, slices.Concat(found[:limit], found[n:])
		}
		limit += most
	}
	if len(found) > limit {
		a.More, found = a.More+len(found)-limit, found[:limit]
	}
	a.Passages = found
	return a
}

// own selects the passages of the entry's own pages, and of the glossary.
func (e Entry) own(passages []passage) (out []passage) {
	for _, p := range passages {
		if p.Page == glossary || slices.Contains(e.pages, p.Page) {
			out = append(out, p)
		}
	}
	return out
}

// glossary is the page that says what words mean, which comes first.
const glossary = "glossary.md"

func (b *Book) find(e Entry, want func(passage) bool) (out []passage) {
	rank := func(p passage) int {
		if p.Page == glossary {
			return -1
		}
		if i := slices.Index(e.pages, p.Page); i >= 0 {
			return i
		}
		return len(e.pages)
	}
	for _, p := range b.passages {
		if want(p) && !slices.Contains(unrelated, p.Page) && !e.saidBy(p) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(x, y passage) int { return rank(x) - rank(y) })
	return out
}

// saidBy reports whether a passage is a row of a table that says what the entry says, or the one
// with all marks.
func (e Entry) saidBy(p passage) bool {
	switch e.Kind {
	case "flag":
		return strings.Contains(p.Text, "; flag: `--")
	case "mark", "gate":
		return strings.Contains(p.Text, "; what to do: ") || strings.HasPrefix(p.Text, "flags; unit: list;")
	case "limit":
		return strings.Contains(p.Text, "; what takes it away: ")
	}
	return false
}

// unrelated are the index, and pages for people who work on zcbench.
var unrelated = []string{"README.md", "hardening.md", "testing.md", "architecture.md", "internals.md"}

// Words lists all names, each once, for completion; those that have several kinds also with these.
func (b *Book) Words() (out []string) {
	n := map[string]int{}
	for _, e := range b.Entries {
		n[e.Name]++
	}
	for _, e := range b.Entries {
		if !slices.Contains(out, e.Name) {
			out = append(out, e.Name)
		}
		if n[e.Name] > 1 && !slices.Contains(out, e.Title()) {
			out = append(out, e.Title())
		}
	}
	return out
}

// Named lists the names of a kind.
func (b *Book) Named(kind string) (out []string) {
	for _, e := range b.Entries {
		if e.Kind == kind && !slices.Contains(out, e.Name) {
			out = append(out, e.Name)
		}
	}
	return out
}

// String formats the place of the passage: "docs/zcrx.md, The proof".
func (p passage) String() string {
	if p.Section == "" {
		return "docs/" + p.Page
	}
	return fmt.Sprintf("docs/%s, %s", p.Page, p.Section)
}
