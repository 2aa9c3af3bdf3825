// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longestPage is how many lines a page may have that is written by hand.
const longestPage = 300

// pages are those of docs, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("../docs/*.md")
	must(t, err)
	out := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		must(t, err)
		out[filepath.Base(name)] = string(b)
	}
	if len(out) < 10 {
		t.Fatalf("only %d pages", len(out))
	}
	return out
}

// The map, docs/README.md, has every page once. A page that is longer than a reader bears says at
// its top that it is generated.
func TestPages(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		if n := strings.Count(all["README.md"], "]("+name+")"); n != 1 && name != "README.md" {
			t.Errorf("docs/README.md has %s %d times", name, n)
		}
		head := strings.SplitAfterN(text, "\n", 11)
		if n := strings.Count(text, "\n"); n > longestPage &&
			!strings.Contains(strings.Join(head[:10], ""), "is generated") {
			t.Errorf("docs/%s has %d lines, more than %d, and is not generated", name, n, longestPage)
		}
	}
}

var (
	pageLink    = regexp.MustCompile(`\]\(([\w./-]*)(?:#([\w-]+))?\)`)
	pageName    = regexp.MustCompile(`\bdocs/([\w-]+\.md)\b`)
	pageSection = regexp.MustCompile(`"([A-Z][^"\n]+)" in (?:docs/|\[)([\w-]+\.md)|([\w-]+\.md)\)?,\s+"([A-Z][^"\n]+)"`)
	pageHead    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^\w -]`)
)

// brokenLinks are what a page refers to and is not there: files, anchors of pages, sections by
// their names.
func brokenLinks(name, text string, all map[string]string, exists func(string) bool) (out []string) {
	for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
		target := all[name]
		if m[1] != "" {
			target = all[m[1]]
			if !exists(m[1]) {
				out = append(out, m[1])
			}
		}
		if m[2] == "" {
			continue
		}
		found := false
		for _, h := range pageHead.FindAllStringSubmatch(target, -1) {
			plain := notInAnchor.ReplaceAllString(strings.ToLower(h[1]), "")
			found = found || strings.ReplaceAll(plain, " ", "-") == m[2]
		}
		if !found {
			out = append(out, m[1]+"#"+m[2])
		}
	}
	for _, m := range pageName.FindAllStringSubmatch(text, -1) {
		if _, ok := all[m[1]]; !ok {
			out = append(out, "docs/"+m[1])
		}
	}
	for _, m := range pageSection.FindAllStringSubmatch(text, -1) {
		page, section := m[2]+m[3], m[1]+m[4]
		if target, ok := all[page]; ok && !regexp.MustCompile(`(?m)^(#+ |.*\*\*)`+regexp.QuoteMeta(section)).
			MatchString(target) {
			out = append(out, page+", \""+section+"\"")
		}
	}
	return out
}

// What pages refer to is there: files, anchors, sections; and so are pages that programs,
// experiments and examples name.
func TestPageLinks(t *testing.T) {
	all := pages(t)
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join("../docs", path))
		return err == nil
	}
	for name, text := range all {
		for _, x := range brokenLinks(name, text, all, exists) {
			t.Errorf("docs/%s refers to %s, which is not there", name, x)
		}
	}
	for _, root := range []string{"../cmd", "../bench", "../judge", "../results", "../plan", "../power", "../machine",
		"../experiments", "../examples", "../tools", "../CONTRIBUTING.md", "../README.md", "../SECURITY.md"} {
		must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml", ".sh"}, filepath.Ext(path)) {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range pageName.FindAllStringSubmatch(string(b), -1) {
				if _, ok := all[m[1]]; !ok && m[1] != "ways.md" { // of a test of package explain
					t.Errorf("%s names docs/%s, which is not there", path, m[1])
				}
			}
			return err
		}))
	}
}

// Broken links are found.
func TestBrokenLinks(t *testing.T) {
	all := map[string]string{"a.md": "# A\n\n## In turns, `x`\n\n**Which?** That.\n", "b.md": "# B\n"}
	for text, want := range map[string]string{
		"[a](a.md) [t](a.md#in-turns-x) (docs/a.md, \"In turns\") \"Which?\" in docs/a.md, see a.md, \"Which\"": "",
		"[c](c.md)":                   "c.md",
		"[a](a.md#nowhere)":           "a.md#nowhere",
		"[here](#a)":                  "#a",
		"docs/c.md":                   "docs/c.md",
		"(docs/a.md, \"Nothing\")":    "a.md, \"Nothing\"",
		"\"Nothing\" in docs/a.md":    "a.md, \"Nothing\"",
		"[t](a.md#in-turns-x) [b](c)": "c",
	} {
		got := brokenLinks("b.md", text, all, func(p string) bool { return all[p] != "" })
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
