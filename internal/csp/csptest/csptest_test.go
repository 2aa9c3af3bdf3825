// SPDX-License-Identifier: MIT

package csptest

import (
	"html"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/csp"
	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// Pages that a browser would not show as they are meant, or in which others could do something, are
// found out.
func TestCheck(t *testing.T) {
	page := func(policy, body string) string {
		return `<!DOCTYPE html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" ` +
			`content="` + html.EscapeString(policy) +
			`"><title>a &lt; b</title><style>x{}</style></head><body><p>a<br>b <svg viewBox="0 0 1 1"><rect ` +
			`x="1"/></svg></p>` + body + "<script>1<2</script></body></html>"
	}
	right := csp.Policy([]string{"x{}"}, []string{"1<2"})
	if wrong := Check(page(right, `<a href="#x">x</a>`)); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
	for name, p := range map[string]string{
		"unsafe":      page("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'", ""),
		"another":     page(csp.Policy([]string{"x{}"}, []string{"1<3"}), ""),
		"one more":    page(right, "<style>y{}</style>"),
		"a style":     page(right, `<p style="color: red">x</p>`),
		"a handler":   page(right, `<p onclick="x()">x</p>`),
		"a link":      page(right, `<a href="https://x/">x</a>`),
		"a picture":   page(right, `<img src="x">`),
		"a frame":     page(right, `<iframe></iframe>`),
		"no policy":   strings.Replace(page(right, ""), "http-equiv", "name", 1),
		"a script of": page(right, `<script src="x"></script>`),
	} {
		if len(Check(p)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	if got, want := csp.Policy(nil, nil),
		"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'none'; script-src 'none'"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
