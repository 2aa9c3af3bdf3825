package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

func htmlPage(t *testing.T, j results.Journal) string {
	return string(render(t, func(b *bytes.Buffer) error { return HTML(b, Summarize(j)) }))
}

func TestHTML(t *testing.T) {
	golden(t, "demo.html.golden", []byte(htmlPage(t, demo())))
}

func TestHTMLEmpty(t *testing.T) {
	if got := htmlPage(t, results.Journal{}); !strings.Contains(got, "no runs") || !strings.Contains(got, "Nothing was measured") {
		t.Error(got)
	}
}

// Texts come from other machines and from the kernel.
func TestHTMLEscapes(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	var p plan
	p.j.Header = results.Header{ToolVersion: evil, SessionID: evil}
	p.add(evil, evil, results.Invalid, 10, because(evil, evil), func(r *results.Record) {
		r.Warnings = []string{evil}
		r.SUT.Name, r.SUT.Env.Kernel, r.Cell.CPULayout = evil, evil, evil
	})
	p.add(evil, evil, results.OK, 10)
	p.j.Skipped = []results.Problem{{Line: 2, Why: evil}}
	got := htmlPage(t, p.j)
	if strings.Contains(got, "<script") || strings.Contains(got, `"">`) {
		t.Error("a text got through unescaped")
	}
	if !strings.Contains(got, "&lt;script&gt;") {
		t.Error("the text is missing")
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

func TestAxis(t *testing.T) {
	for _, tt := range []struct {
		top  float64
		want string // labels
	}{
		{0, "0 1"}, {1.32, "0 0.5 1 1.5"}, {44.8, "0 10 20 30 40 50"}, {190.06, "0 50 100 150 200"}, {1, "0 0.2 0.4 0.6 0.8 1"},
	} {
		x, p := axis(tt.top)
		var labels []string
		for _, k := range p.Ticks {
			labels = append(labels, k.Label)
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("axis(%v): %s, want %s", tt.top, got, tt.want)
		}
		if x(0) != "0.00%" || p.Ticks[len(p.Ticks)-1].X != "100.00%" {
			t.Errorf("axis(%v) is %s..%s", tt.top, x(0), p.Ticks[len(p.Ticks)-1].X)
		}
	}
}
