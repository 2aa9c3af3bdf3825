// SPDX-License-Identifier: MIT

// Package explain finds what the docs and the program's own lists say about a word.
package explain

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// passage is a piece of a page that is about something.
type passage struct {
	Page    string // zcrx.md
	Section string // its heading; "": before the first
	Text    string // a paragraph, an entry of a list, or a row of a table with its heads

	defines []string // what it begins with: words of a table's first column, of an entry's beginning
}

// read takes the pages apart.
func read(pages fs.FS) (out []passage, err error) {
	names, err := fs.Glob(pages, "*.md")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := fs.ReadFile(pages, name)
		if err != nil {
			return nil, err
		}
		out = append(out, parse(name, string(b))...)
	}
	return out, nil
}

// parser goes through the lines of a page.
type parser struct {
	page, section string
	block         []string // lines of the passage under way
	head          []string // of the table under way; nil: none
	first         string   // the first cell of a row above, for rows that leave it out
	out           []passage
}

func parse(page, text string) []passage {
	p := &parser{page: page}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			p.line(line)
		}
	}
	p.end()
	if len(p.out) > 0 { // what the page is about
		p.out[0].defines = append(p.out[0].defines, strings.TrimSuffix(page, ".md"))
	}
	return p.out
}

func (p *parser) line(line string) {
	switch {
	case strings.HasPrefix(line, "#"):
		p.end()
		p.section = strings.TrimLeft(line, "# ")
	case strings.HasPrefix(line, "|"):
		p.row(line)
	case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "<!--"):
		p.end()
	case strings.HasPrefix(line, "    "): // code
		p.end()
	case strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* "):
		p.end()
		p.block = append(p.block, line[2:])
	default:
		p.block = append(p.block, strings.TrimSpace(line))
	}
}

// end finishes the passage under way, and a table.
func (p *parser) end() {
	if len(p.block) > 0 {
		text := strings.Join(p.block, " ")
		p.out = append(p.out, passage{Page: p.page, Section: p.section, Text: text, defines: beginning(text)})
	}
	p.block, p.head, p.first = nil, nil, ""
}

// row takes a line of a table: its heads, what parts them from the rest, or a row.
func (p *parser) row(line string) {
	if len(p.block) > 0 {
		p.end()
	}
	cells := columns(line)
	switch {
	case p.head == nil:
		p.head = cells
		return
	case strings.Trim(line, "|-: ") == "":
		return
	}
	if cells[0] == "" && p.head[0] != "" {
		cells[0] = p.first
	}
	p.first = cells[0]
	defines := named(cells[0])
	if len(cells) > 1 && len(p.head) > 1 && p.head[1] == "errno" { // of errors.md
		defines = named(cells[1])
	}
	var parts []string
	for i, c := range cells {
		if c == "" {
			continue
		}
		if i > 0 && i < len(p.head) && p.head[i] != "" {
			c = p.head[i] + ": " + c
		}
		parts = append(parts, c)
	}
	if len(parts) > 0 {
		p.out = append(p.out, passage{Page: p.page, Section: p.section, Text: strings.Join(parts, "; "),
			defines: defines})
	}
}

// columns splits a table's line into cells. A bar behind a backslash does not separate.
func columns(line string) (out []string) {
	const bar = "\x00"
	line = strings.ReplaceAll(line, `\|`, bar)
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	for c := range strings.SplitSeq(line, "|") {
		out = append(out, strings.TrimSpace(strings.ReplaceAll(c, bar, "|")))
	}
	return out
}

var (
	word  = lazy.Regexp(`[A-Za-z0-9][A-Za-z0-9_-]*`)
	begun = lazy.Regexp("^(?:\\*\\*[^*]+\\*\\*|(?:`[^`]+`(?:, | and |: )?)+)")
)

// beginning returns the words that a passage begins with in bold or as code: what it is about.
func beginning(text string) []string { return tokens(begun().FindString(text)) }

// names is a cell of a table that has nothing but names.
var names = lazy.Regexp("^`?[A-Za-z0-9_-]+`?(, `?[A-Za-z0-9_-]+`?)*$")

// named returns the names that a cell begins with: all of it where there is nothing else, or its
// first word.
func named(cell string) []string {
	all := tokens(cell)
	if len(all) > 1 && !names().MatchString(cell) {
		return all[:1]
	}
	return all
}

// tokens splits a text into words, without the dashes of flags.
func tokens(text string) []string { return word().FindAllString(text, -1) }

// same reports whether two words mean the same: --rx-buf-len is rx_buf_len.
func same(a, b string) bool { return plainWord(a) == plainWord(b) }

func plainWord(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimLeft(s, "-"), "-", "_"))
}

// mentions reports whether the name is a word of the text.
func mentions(text, name string) bool {
	return slices.ContainsFunc(tokens(text), func(w string) bool { return same(w, name) })
}
