// SPDX-License-Identifier: MIT

// Package csptest holds a page against its Content-Security-Policy, for tests: what a browser would
// refuse of the page, and what it would let others do.
package csptest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/csp"
)

var (
	meta  = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)
	plain = regexp.MustCompile(`(?s)<(style|script)([^>]*)>(.*?)</(style|script)>`)
)

// Check finds what is wrong with a page; nothing: a browser shows all of it, and runs nothing else.
func Check(page string) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	policies := meta.FindAllStringSubmatchIndex(page, -1)
	if len(policies) != 1 {
		bad("%d policies, want 1", len(policies))
		return wrong
	}
	var texts = map[string][]string{}
	for _, m := range plain.FindAllStringSubmatchIndex(page, -1) {
		name := page[m[2]:m[3]]
		if m[0] < policies[0][1] {
			bad("a %s stands before the policy", name)
		}
		if page[m[4]:m[5]] != "" {
			bad("a %s has attributes:%s", name, page[m[4]:m[5]])
		}
		texts[name] = append(texts[name], page[m[6]:m[7]])
	}
	got, want := html.UnescapeString(page[policies[0][2]:policies[0][3]]), csp.Policy(texts["style"], texts["script"])
	if got != want {
		bad("the policy is\n%s\nbut what the page has takes\n%s", got, want)
	}
	return append(wrong, attributes(plain.ReplaceAllString(page, "<$1></$1>"))...)
}

// attributes finds those that a policy of hashes refuses, or that reach elsewhere.
func attributes(page string) (wrong []string) {
	dec := xml.NewDecoder(strings.NewReader(page))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	elements := 0
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(wrong, fmt.Sprintf("the page cannot be read: %v", err))
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		elements++
		for _, a := range e.Attr {
			switch name := strings.ToLower(a.Name.Local); {
			case name == "style", strings.HasPrefix(name, "on"),
				(name == "href" || name == "src" || name == "action" || name == "srcdoc") &&
					!strings.HasPrefix(a.Value, "#"):
				wrong = append(wrong, fmt.Sprintf("<%s %s=%.60q>", e.Name.Local, a.Name.Local, a.Value))
			}
		}
		if slices.Contains([]string{"base", "object", "embed", "iframe", "link", "img", "foreignobject"},
			strings.ToLower(e.Name.Local)) {
			wrong = append(wrong, "<"+e.Name.Local+">")
		}
	}
	if elements < 5 {
		wrong = append(wrong, fmt.Sprintf("%d elements: this is no page", elements))
	}
	return wrong
}
