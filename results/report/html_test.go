// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/csp/csptest"
	"github.com/zcbench/zcbench/results"
)

func htmlPage(t *testing.T, j results.Journal) string {
	return string(render(t, func(b *bytes.Buffer) error { return writePage(b, Summarize(j)) }))
}

func writePage(b *bytes.Buffer, s *Summary) error {
	figures, err := Figures(s)
	if err != nil {
		return err
	}
	return HTML(b, s, figures)
}

func TestHTML(t *testing.T) {
	golden(t, "demo.html.golden", bare(t, htmlPage(t, demo())))
}

func TestHTMLEmpty(t *testing.T) {
	if got := htmlPage(t, results.Journal{}); !strings.Contains(got, "no runs") ||
		!strings.Contains(got, "Nothing was measured") {
		t.Error(got)
	}
}

// Texts come from other machines and from the kernel.
func TestHTMLEscapes(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	var p madeUp
	p.j.Header = results.Header{ToolVersion: evil, SessionID: evil}
	p.add(evil, evil, results.Invalid, 10, because(evil, evil), func(r *results.Record) {
		r.Warnings = []string{evil}
		r.SUT.Name, r.SUT.Env.Kernel, r.Cell.CPULayout = evil, evil, evil
	})
	p.add(evil, evil, results.OK, 10)
	p.j.Skipped = []results.Problem{{Line: 2, Why: evil}}
	got := foreign(t, htmlPage(t, p.j))
	if strings.Contains(got, "<script") || strings.Contains(got, `"">`) {
		at := max(strings.Index(got, "<script"), strings.Index(got, `"">`))
		t.Errorf("a text got through unescaped: %s", got[max(at-80, 0):at+40])
	}
	if !strings.Contains(got, "&lt;script&gt;") {
		t.Error("the text is missing")
	}
}

// bare is a page without styles and scripts, which are files of their own.
func bare(t *testing.T, page string) []byte {
	t.Helper()
	for _, x := range [][2]string{{"style-src", "\""}, {"<style>", "</style>"}, {"<script>", "</script>"}} {
		before, rest, ok := strings.Cut(page, x[0])
		_, after, closed := strings.Cut(rest, x[1])
		if !ok || !closed {
			t.Fatalf("no %s in the page", x[0])
		}
		page = before + x[0] + x[1] + after
	}
	return []byte(page)
}

// foreign is a page without its own script, which it has once.
func foreign(t *testing.T, page string) string {
	t.Helper()
	own := "<script>\n" + pageScript + "</script>"
	if strings.Count(page, own) != 1 {
		t.Error("the page's own script is not there once")
	}
	return strings.Replace(page, own, "", 1)
}

// A browser shows and runs all of the page that is ours, by the hashes of its policy, and nothing
// else.
func TestPolicy(t *testing.T) {
	for _, j := range []results.Journal{demo(), {}} {
		for _, wrong := range csptest.Check(htmlPage(t, j)) {
			t.Error(wrong)
		}
	}
}

func TestHTMLSelfContained(t *testing.T) {
	got := htmlPage(t, demo())
	for _, bad := range []string{"http://", "https://", "src=", "url(", "@import", "<link", "ZgotmplZ", "NaN", "Inf"} {
		if strings.Contains(got, bad) {
			t.Errorf("has %q", bad)
		}
	}
}

// Every table sits in a box that scrolls, so that a window too narrow for it cuts no column off; the
// browser's test says where none has to (browsertest, TestNoColumnIsCutOff).
func TestTablesSitInBoxes(t *testing.T) {
	for _, name := range []string{"demo.html.golden", "probed.html.golden"} {
		page, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		tables := strings.Split(string(page), "<table")
		if len(tables) < 5 {
			t.Fatalf("%s: %d tables", name, len(tables)-1)
		}
		for i, before := range tables[:len(tables)-1] {
			if !strings.HasSuffix(strings.TrimSpace(before), `<div class="scroll" tabindex="0">`) {
				t.Errorf("%s: table %d begins outside of a box: ...%s", name, i+1, before[max(0, len(before)-80):])
			}
		}
	}
}
